"""Language models: definitions, checkpoints, and the way from a checkpoint to a program.

path = etlab.llm.export_llm({"base": {...}, "model": {...}, ...})
"""

from etlab.llm.chat import Chat
from etlab.llm.export_llm import export_llm
from etlab.llm.runner import Generation, GenerationConfig, Runner, Stats
from etlab.llm.text_llm_runner import TextLLMRunner
from etlab.llm.tokenizers import load_tokenizer, write_vocabulary

__all__ = [
    "Chat",
    "Generation",
    "GenerationConfig",
    "Runner",
    "Stats",
    "TextLLMRunner",
    "export_llm",
    "load_tokenizer",
    "write_vocabulary",
]
