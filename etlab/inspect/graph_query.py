"""The language of a view's query box, in Python: `graph.select("op:conv dtype:int8")`.

Words are looked for in names, operators and modules; `field:text` contains, `field=text` is the
whole, `field:~expression` matches; `bytes>1M` compares; `in:blocks.3` is inside of a module;
`delegated`; `and` (which may be left out), `or`, `not`, parentheses; quotes around what holds
spaces or parentheses. widgets/graph/query.js understands the same.
"""

import re
from collections.abc import Callable

from etlab.errors import InvalidArgumentError
from etlab.inspect.graph import HIDDEN, GraphData, GraphNode
from etlab.inspect.graph_wire import shape_text

_TOKEN = re.compile(r'[^\s()"]*"[^"]*"|\(|\)|[^\s()]+')
_TERM = re.compile(r"([a-z]+)(:~|>=|<=|[:=<>])(.*)", re.IGNORECASE)
_NUMBER = re.compile(r"(-?[\d.]+(?:e-?\d+)?)([kmg](?:ib)?)?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1e3, "m": 1e6, "g": 1e9, "kib": 2**10, "mib": 2**20, "gib": 2**30}

Test = Callable[[GraphNode], bool]

_TEXTS: dict[str, Callable[[GraphNode], str]] = {
    "name": lambda node: node.name,
    "op": lambda node: node.operator,
    "operator": lambda node: node.operator,
    "dtype": lambda node: node.dtype,
    "shape": lambda node: shape_text(node.shape),
    "in": lambda node: node.module,
    "module": lambda node: node.module,
    "backend": lambda node: node.backend,
    "source": lambda node: node.source,
    "kind": lambda node: node.kind,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda size, limit: size > limit,
    "<": lambda size, limit: size < limit,
    ">=": lambda size, limit: size >= limit,
    "<=": lambda size, limit: size <= limit,
    ":": lambda size, limit: size == limit,
    "=": lambda size, limit: size == limit,
}


def select_nodes(graph: GraphData, query: str) -> list[str]:
    """Names of the drawn nodes that a query finds, in order; all of them for an empty one.

    Raises:
        InvalidArgumentError: the query can't be understood; the message says why.
    """
    parser = _Parser(_TOKEN.findall(query))
    fits = parser.whole() if parser.tokens else lambda _: True
    return [node.name for node in graph.nodes if node.kind not in HIDDEN and fits(node)]


class _Parser:
    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self._at = 0

    def whole(self) -> Test:
        test = self._either()
        if self._at < len(self.tokens):
            raise _refused("a ')' without its '('")
        return test

    def _next_is(self, word: str) -> bool:
        return self._at < len(self.tokens) and self.tokens[self._at].lower() == word

    def _either(self) -> Test:
        tests = [self._both()]
        while self._next_is("or"):
            self._at += 1
            tests.append(self._both())
        return lambda node: any(test(node) for test in tests)

    def _both(self) -> Test:
        tests = [self._single()]
        while self._at < len(self.tokens) and not self._next_is(")") and not self._next_is("or"):
            if self._next_is("and"):
                self._at += 1
            tests.append(self._single())
        return lambda node: all(test(node) for test in tests)

    def _single(self) -> Test:
        if self._at >= len(self.tokens):
            raise _refused("the query ends too early")
        token = self.tokens[self._at]
        self._at += 1
        if token == ")":
            raise _refused("a ')' without its '('")
        if token.lower() == "not":
            test = self._single()
            return lambda node: not test(node)
        if token != "(":
            return _term(token)
        inner = self._either()
        if not self._next_is(")"):
            raise _refused("a '(' without its ')'")
        self._at += 1
        return inner


def _term(token: str) -> Test:
    match = _TERM.fullmatch(token)
    field = match[1].lower() if match else ""
    if match is None or (field not in _TEXTS and field not in ("bytes", "value")):
        word = token.replace('"', "").lower()
        if word == "delegated":
            return lambda node: node.backend != ""
        return lambda node: (
            word in node.name.lower()
            or word in node.operator.lower()
            or word in node.module.lower()
        )
    operation, value = match[2], match[3].replace('"', "")
    if field == "value":
        raise _refused("'value' is the number of a view's colouring: a graph alone has none")
    if field == "bytes":
        return _size_test(operation, value)
    if operation[0] in "<>":
        raise _refused(f"'{field}' is text: use {field}:… or {field}=…")
    text, fits = _TEXTS[field], _text_test(field, operation, value)
    return lambda node: fits(text(node).lower())


def _text_test(field: str, operation: str, value: str) -> Callable[[str], bool]:
    if operation == ":~":
        try:
            pattern = re.compile(value, re.IGNORECASE)
        except re.error:
            raise _refused(f"'{value}' is no regular expression") from None
        return lambda text: pattern.search(text) is not None
    wanted = value.lower()
    if operation == "=":
        return lambda text: text == wanted
    if field == "in":
        return lambda text: text == wanted or text.startswith(f"{wanted}.")
    return lambda text: wanted in text


def _size_test(operation: str, value: str) -> Test:
    match = _NUMBER.fullmatch(value)
    try:
        limit = float(match[1]) * _UNITS[(match[2] or "").lower()] if match else None
    except ValueError:
        limit = None
    if limit is None or operation not in _COMPARISONS:
        raise _refused(f"'{value}' is no number: write bytes>1000 or bytes>1M")
    compare, most = _COMPARISONS[operation], limit
    return lambda node: node.nbytes is not None and compare(node.nbytes, most)


def _refused(why: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"query: {why}")
