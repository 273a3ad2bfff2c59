"""Integer quantization of exported graphs, on the `Quantizer` contract of torchao's PT2E flow.

`quantizer.py` decides which configuration a node gets, `rules.py` what its observers are,
`cleaning.py` brings the graph into the form that the rules know, `config.py` makes configurations
from words. The modules import torchao, which takes seconds: import them where they are used.
"""
