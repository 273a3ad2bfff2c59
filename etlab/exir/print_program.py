"""Graphs and programs as text: where a node stands, and what a program does."""

import sys
from typing import TextIO

from torch import fx

from etlab.errors import InvalidArgumentError
from etlab.exir.emit.dump import dump_program
from etlab.exir.emit.schema import Program

__all__ = ["inspect_node", "print_program"]


def inspect_node(graph: fx.Graph, node: fx.Node) -> str:
    """A graph with an arrow at one node, and the model's lines that the node comes from.

    Args:
        graph: a line a node is shown of it.
        node: one of its nodes.

    Raises:
        InvalidArgumentError: the node is of another graph.
    """
    if not any(one is node for one in graph.nodes):
        raise InvalidArgumentError(
            f"inspect_node: '{node.name}' is no node of this graph; give both of one program, for"
            " example of edge.exported_program().graph"
        )
    lines = [
        f"{'-->' if one is node else '   '} {one.format_node() or 'return ' + str(one.args[0])}"
        for one in graph.nodes
    ]
    trace = (node.meta.get("stack_trace") or "").rstrip()
    origin = f"It comes from:\n{trace}" if trace else "Where it comes from is not known."
    return "\n".join([f"'{node.name}' is here:", *lines, "", origin])


def print_program(program: Program, *, out: TextIO | None = None) -> None:
    """Print a program's methods, values and instructions.

    Args:
        program: for example `executorch_program` of what `to_executorch` returns.
        out: where to; standard output by default.
    """
    print(dump_program(program), file=out or sys.stdout)
