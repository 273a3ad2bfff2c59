"""Language models: definitions, checkpoints, and the way from a checkpoint to a program.

path = etlab.llm.export_llm({"base": {...}, "model": {...}, ...})
"""

from etlab.llm.chat import Chat
from etlab.llm.export_llm import export_llm
from etlab.llm.parity import TokenParity, token_parity
from etlab.llm.perplexity import Perplexity, perplexity
from etlab.llm.runner import Generation, GenerationConfig, Runner, Stats
from etlab.llm.text_llm_runner import TextLLMRunner
from etlab.llm.tokenizers import load_tokenizer, write_vocabulary

__all__ = [
    "Chat",
    "Generation",
    "GenerationConfig",
    "Perplexity",
    "Runner",
    "Stats",
    "TextLLMRunner",
    "TokenParity",
    "export_llm",
    "load_tokenizer",
    "perplexity",
    "token_parity",
    "write_vocabulary",
]
