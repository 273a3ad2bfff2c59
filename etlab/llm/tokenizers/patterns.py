"""How families cut text into words before pairs are merged: regular expressions of their makers."""

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"

LLAMA_3 = (
    rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1,3}}"
    rf"| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
)
QWEN_2 = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")  # digits one by one
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_PUNCTUATION = r"[^\r\n\p{L}\p{N}]?"
GPT_4O = (  # and Phi-4-mini
    rf"{_PUNCTUATION}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?"
    rf"|{_PUNCTUATION}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}"
)
