"""Why a node was left, in words, and what would help: one sentence that says both.

Partitioners write `why: what would help`, or only why. Reports take the sentence apart.
"""


def split_reason(text: str) -> tuple[str, str]:
    """Why a node was left, and what would help; empty when the sentence does not say.

    >>> split_reason("its sizes vary, XNNPACK resizes to fixed ones: fix height and width")
    ('its sizes vary, XNNPACK resizes to fixed ones', 'fix height and width')
    >>> split_reason("there is nothing like aten::fft")
    ('there is nothing like aten::fft', '')
    """
    why, colon, help_text = text.rpartition(": ")
    return (why, help_text) if colon else (text, "")
