"""Nodes for symbolic sizes: found when one exists, made when not."""

import operator
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from etlab.errors import LoweringError

if TYPE_CHECKING:
    from etlab.exir.decompose.walk import Walk


class Symbols:
    """The size expressions of one graph and the nodes that hold them."""

    def __init__(self, walk: "Walk") -> None:
        self._walk = walk
        self._nodes: dict[Any, fx.Node] = {}
        self._searched = False

    def define(self, value: Any, node: fx.Node) -> None:
        """Say that `node` holds the symbolic number `value`."""
        self._nodes.setdefault(value.node.expr, node)

    def find(self, expression: Any) -> fx.Node | None:
        """The node that holds an expression, if there is one yet."""
        return self._nodes.get(expression)

    def arguments(self, sizes: Iterable[Any]) -> list[Any]:
        """`argument` of every size."""
        return [self.argument(size) for size in sizes]

    def argument(self, size: Any) -> Any:
        """A size as an argument: itself when it is a number, otherwise a node that holds it."""
        if not isinstance(size, torch.SymInt | torch.SymFloat | torch.SymBool):
            return size
        expression = size.node.expr
        if expression.is_number:
            return int(expression) if isinstance(size, torch.SymInt) else float(expression)
        return self._node(expression, size.node.shape_env)

    def _node(self, expression: Any, shape_env: Any) -> Any:
        if expression.is_Integer:
            return int(expression)
        known = self._nodes.get(expression)
        if known is not None:
            return known
        if expression.is_Symbol:
            self._search()
            if expression not in self._nodes:
                raise LoweringError(
                    f"no input has the size '{expression}' that a decomposition needs"
                )
            return self._nodes[expression]
        operands = [self._node(argument, shape_env) for argument in expression.args]
        result = operands[0]
        function = _function_of(expression)
        for index in range(1, len(operands)):
            partial = expression.func(*expression.args[: index + 1])
            value = shape_env.create_symintnode(partial, hint=None)
            result = self._walk.raw(function, (result, operands[index]), {}, value)
        return result

    def _search(self) -> None:
        """Give every symbol that is a dimension of a placeholder a `sym_size` node."""
        if self._searched:
            return
        self._searched = True
        walk = self._walk
        placeholders = [node for node in walk.graph.nodes if node.op == "placeholder"]
        first = next((node for node in walk.graph.nodes if node.op != "placeholder"), None)
        where = walk.graph.inserting_before(first) if first is not None else nullcontext()
        derived: list[tuple[fx.Node, int, torch.SymInt]] = []
        with where:
            for node in placeholders:
                val = node.meta.get("val")
                if not isinstance(val, torch.Tensor):
                    continue
                for dim, size in enumerate(val.shape):
                    if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                        self._add_size(node, dim, size)
                    elif isinstance(size, torch.SymInt):
                        derived.append((node, dim, size))
            for node, dim, multiple in derived:
                self._solve(node, dim, multiple)

    def _solve(self, placeholder: fx.Node, dim: int, size: torch.SymInt) -> None:
        """Give the symbol of a size such as `2 * n + 1` a node: `(size - 1) // 2`."""
        expression = size.node.expr
        symbols = expression.free_symbols
        if len(symbols) != 1 or symbols <= self._nodes.keys():
            return
        (symbol,) = symbols
        factor = expression.coeff(symbol)
        rest = expression - factor * symbol
        if not (factor.is_Integer and rest.is_Integer and factor > 0):
            return
        self._add_size(placeholder, dim, size)
        node, environment = self._nodes[expression], size.node.shape_env
        for function, number, result in (
            (operator.sub, int(rest), expression - rest),
            (operator.floordiv, int(factor), symbol),
        ):
            made = self._walk.graph.call_function(function, (node, number))
            value = environment.create_symintnode(result, hint=None)
            made.meta = {"val": value, "from_node": placeholder.name, "debug_handle": 0}
            node = made
        self._nodes[symbol] = node

    def _add_size(self, placeholder: fx.Node, dim: int, size: torch.SymInt) -> None:
        if size.node.expr in self._nodes:
            return
        node = self._walk.graph.call_function(torch.ops.aten.sym_size.int, (placeholder, dim))
        node.meta = {"val": size, "from_node": placeholder.name, "debug_handle": 0}
        self._nodes[size.node.expr] = node


def _function_of(expression: Any) -> Callable[..., Any]:
    name = type(expression).__name__
    functions: dict[str, Any] = {
        "Add": operator.add,
        "Mul": operator.mul,
        "FloorDiv": operator.floordiv,
        "CleanDiv": operator.floordiv,
        "Mod": operator.mod,
        "PythonMod": operator.mod,
        "Max": torch.sym_max,
        "Min": torch.sym_min,
    }
    if name not in functions:
        raise LoweringError(f"the size expression '{expression}' has no operator ({name})")
    return functions[name]  # type: ignore[no-any-return]  # the table is untyped
