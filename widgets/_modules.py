"""Writes a widget's JavaScript modules into one, as anywidget wants it, without a bundler."""

import re
from pathlib import Path

from etlab.widgets._short_names import with_short_names

_IMPORT = re.compile(r'^import \{[^}]*\} from "(\.{1,2}/[^"]+)";\n', re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/|//[^\n]*)
    |(?P<kept>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`(?:\\.|[^`\\])*`
      |(?<=[(,=:!&|?\[])\s*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n\[])+/[a-z]*
      |(?<=return)\s+/(?![/*])(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\n\[])+/[a-z]*)
    |(?P<space>\s+)
    |(?P<word>[\w$#]+)
    |(?P<sign>.)""",
    re.DOTALL | re.VERBOSE,
)
_SHORT = {"const": "let", "true": "!0", "false": "!1"}
_NEEDS_NO_SPACE = set("{}()[];,=<>?:&|*!.")


def joined_modules(path: Path) -> str:
    """The module at `path` after all that it imports, in one small text.

    Imports are `import { names } from "./file.js";`, names are unique over all files.
    """
    texts: dict[Path, str] = {}

    def read(file: Path) -> None:
        source = file.read_text(encoding="utf-8")
        for name in _IMPORT.findall(source):
            if (inner := (file.parent / name).resolve()) not in texts:
                read(inner)
        texts[file] = _IMPORT.sub("", source)

    read(path.resolve())
    *inner, root = texts.values()
    own = "".join(re.sub(r"^export ", "", text, flags=re.MULTILINE) for text in inner)
    return without_comments(own + root)


def without_comments(source: str) -> str:
    """JavaScript without comments, without the spaces that only people need, with short names.

    >>> without_comments("const a = [1, 2]; // two").strip()
    'let a=[1,2];'

    Line breaks stay where a statement could end without a semicolon; strings, templates and regular
    expressions stay as they are, and a constant is a variable that nobody changes. Declarations
    that follow each other are one; true and false are !0 and !1.
    """
    tokens = [(str(match.lastgroup), match[0]) for match in _TOKEN.finditer(source)]
    tokens = [("space", text) if kind == "comment" else (kind, text) for kind, text in tokens]
    result: list[str] = []
    space = ""
    declares = [False]  # at every depth of brackets: whether the statement there is a declaration
    for kind, text in with_short_names(tokens):
        if kind == "space":
            space = "\n" if "\n" in text or space == "\n" else space or " "
            continue
        last = result[-1][-1] if result else "\n"
        if kind == "word" and text in ("const", "let") and last != ".":
            if declares[-1] and last == ";":
                result[-1], space = ",", "merged"
                continue
            declares[-1] = True
        elif last == ";" and text not in ("}", ";"):
            declares[-1] = False
        if text in ("(", "[", "{"):
            declares.append(False)
        elif text in (")", "]", "}") and len(declares) > 1:
            declares.pop()
        text = _SHORT.get(text, text) if kind == "word" and last != "." else text
        first = text.strip()[0]
        if space == "\n" and last not in "{,(;\n" and text not in ("}", "]", ")"):
            result.append("\n")
        elif space == " " and _is_needed(last, first):
            result.append(" ")
        if (text in ("}", "]", ")") and last == ",") or (text == "}" and last == ";"):
            result.pop()
        result.append(text.strip() if kind == "kept" else text)
        space = ""
    return "".join(result) + "\n"


def _is_needed(last: str, first: str) -> bool:
    """Whether a space between two letters tells them apart: two words, `+ +`, `/ *`."""
    if last == "\n" or {last, first} & _NEEDS_NO_SPACE:
        return False
    signs = "+-/%^"
    return (last not in signs and first not in signs) or (last in signs and first in signs)
