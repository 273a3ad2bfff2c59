"""Short names for the variables of a JavaScript module: half of its bytes are names.

A name is shortened everywhere or nowhere, and two names never become one, so scopes need not be
known. Properties keep their names; `{ width }` becomes `{ width: a }`. Left alone is what nothing
in the module declares, and what stands in the hole of a template that has braces in it.
"""

import itertools
import re
import string
from collections import Counter
from collections.abc import Iterator

Token = tuple[str, str]  # kind ("word", "sign", "kept", "space") and text

_BEFORE_BLOCK = (")", ">", "else", "try", "finally", "do", "}", ";", "")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")
_STRING = r'"(?:\\.|[^"\\])*"'
_VARIABLE = re.compile(rf"{_STRING}|(?<![\w$.])[A-Za-z_$][\w$]*")
_PLAIN_HOLE = re.compile(rf"\$\{{(?:{_STRING}|\.(?!\.)|[^{{}}\"'`.])*\}}")  # no braces, no `...`
_KEYWORDS = set(
    """async await break case catch class const continue default delete do else export extends false
    finally for function get if import in instanceof let new null of return set static super switch
    this throw true try typeof undefined var void while yield arguments eval""".split()  # noqa: SIM905
) | {"document", "window"}  # a variable of this name elsewhere must not take the page's own along


def with_short_names(tokens: list[Token]) -> list[Token]:
    """The same module with shorter names for what only it knows.

    >>> [text for _, text in with_short_names([("word", "const"), ("word", "total")])]
    ['const', 'a']
    """
    places = [place for place, (kind, _) in enumerate(tokens) if kind != "space"]
    texts = [tokens[place][1] for place in places]
    kinds = [tokens[place][0] for place in places]
    roles = _roles(texts, kinds)
    words = {text for text, kind in zip(texts, kinds, strict=True) if kind == "word"}
    templates = [text for text in texts if text.startswith("`")]
    left = [_PLAIN_HOLE.sub(" ", text).partition("${")[2] for text in templates]
    fixed = {name for text in left for name in _WORD.findall(text)}
    fixed |= _KEYWORDS
    own = [name for name in _declared(texts, roles) if name not in fixed and len(name) > 1]
    counts = Counter(
        text for text, role in zip(texts, roles, strict=True) if role in ("variable", "both")
    )
    own.sort(key=lambda name: (-counts[name], name))
    # No new name is one that the module already has, be it a property or a global.
    free = (name for name in _names() if name not in words | fixed)
    short = dict(zip(own, free, strict=False))
    result = list(tokens)
    for place, text, kind, role in zip(places, texts, kinds, roles, strict=True):
        if text in short and role in ("variable", "both"):
            name = short[text]
            result[place] = ("word", name if role == "variable" else f"{text}:{name}")
        elif text.startswith("`"):
            result[place] = (kind, _PLAIN_HOLE.sub(lambda hole: _shortened(hole[0], short), text))
    return result


def _shortened(hole: str, short: dict[str, str]) -> str:
    """The `${expression}` of a template; its strings stay."""
    return _VARIABLE.sub(lambda name: short.get(name[0], name[0]), hole)


def _names() -> Iterator[str]:
    for length in itertools.count(1):
        for letters in itertools.product(string.ascii_letters, repeat=length):
            yield "".join(letters)


def _roles(texts: list[str], kinds: list[str]) -> list[str]:
    """What every word is: variable, property, or both (alone in the braces of an object)."""
    roles = []
    around: list[str] = []  # "(", "[", and for braces "block" or "object"
    for place, (text, kind) in enumerate(zip(texts, kinds, strict=True)):
        before = texts[place - 1] if place else ""
        after = texts[place + 1] if place + 1 < len(texts) else ""
        if text == "{":
            around.append("block" if before in _BEFORE_BLOCK else "object")
        elif text in ("(", "["):
            around.append(text)
        elif text in (")", "]", "}") and around:
            around.pop()
        is_member = before == "." and texts[place - 3 : place] != [".", ".", "."]
        is_key = around[-1:] == ["object"] and before in ("{", ",", "get", "set", "async")
        if kind != "word":
            roles.append("")
        elif is_member or (is_key and after in (":", "(")):
            roles.append("property")
        elif is_key and after in ("}", ",", "="):
            roles.append("both")
        else:
            roles.append("variable")
    return roles


def _declared(texts: list[str], roles: list[str]) -> set[str]:
    """Names that follow const, let or function, in patterns, too, and those of parameters."""
    found: set[str] = set()
    opened: list[int] = []

    def take(start: int, end: int) -> None:
        inside = range(start + 1, end)
        found.update(
            texts[place]
            for place in inside
            if roles[place] in ("variable", "both") and texts[place - 1] != "="
        )

    for place, text in enumerate(texts):
        if roles[place] == "property":  # a method may be called as a keyword is: `promise.catch`
            continue
        if text in ("const", "let", "function"):
            found.add(texts[place + 1])
        elif texts[place + 1 : place + 3] == ["=", ">"] and roles[place] == "variable":
            found.add(text)
        if text in ("(", "[", "{"):
            opened.append(place)
        elif text in (")", "]", "}") and opened:
            start = opened.pop()
            before = texts[start - 1] if start and roles[start - 1] != "property" else ""
            is_arrow = text == ")" and texts[place + 1 : place + 3] == ["=", ">"]
            is_function = text == ")" and texts[max(0, start - 2) : start - 1] == ["function"]
            is_caught = text == ")" and before == "catch"
            if is_arrow or is_function or is_caught or before in ("const", "let"):
                take(start, place)
    return {name for name in found if _WORD.fullmatch(name)}
