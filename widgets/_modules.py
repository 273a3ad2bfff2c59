"""Writes a widget's JavaScript modules into one, as anywidget wants it, without a bundler."""

import re
from pathlib import Path

_IMPORT = re.compile(r'^import \{[^}]*\} from "(\./[^"]+)";\n', re.MULTILINE)
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
_NEEDS_NO_SPACE = set("{}()[];,=<>?:&|*!.")


def joined_modules(path: Path) -> str:
    """The module at `path` after all that it imports, in one text without comments.

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
    """JavaScript without comments and without the spaces that only people need.

    >>> without_comments("const a = [1, 2]; // two").strip()
    'const a=[1,2];'

    Line breaks stay single; strings, templates and regular expressions stay as they are. Statements
    end with semicolons, as in all of our files.
    """
    result: list[str] = []
    space = ""
    for match in _TOKEN.finditer(source):
        text = match[0]
        if match.lastgroup in ("comment", "space"):
            space = "\n" if "\n" in text or space == "\n" else space or " "
            continue
        last = result[-1][-1] if result else "\n"
        first = text[0]
        if space == "\n" and last not in "{,(\n":
            result.append("\n")
        elif space == " " and not {last, first} & _NEEDS_NO_SPACE and last != "\n":
            result.append(" ")
        result.append(text.strip() if match.lastgroup == "kept" else text)
        space = ""
    return "".join(result) + "\n"
