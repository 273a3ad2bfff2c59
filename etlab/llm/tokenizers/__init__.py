"""Tokenizers of language models, one kind a file; libraries do the work.

tokenizer = load_tokenizer("SmolLM2-135M-Instruct.gguf")
tokenizer.encode("Hello")
"""

from etlab.llm.tokenizers.base import Tokenizer
from etlab.llm.tokenizers.loading import load_tokenizer
from etlab.llm.tokenizers.streaming import TextStream
from etlab.llm.tokenizers.vocabulary import write_vocabulary

__all__ = ["TextStream", "Tokenizer", "load_tokenizer", "write_vocabulary"]
