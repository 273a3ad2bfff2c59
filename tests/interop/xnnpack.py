"""What the tests of the XNNPACK backend share: both runtimes compute what eager does."""

import copy

import torch
from interop.official import run_official_repeatedly
from torch import nn

from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.backends.xnnpack.payload import read_payload
from etlab.runtime import Runtime
from etlab.testing_backends import check_backend, lowered_modules


class Calls(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, y=None):
        return self.function(x) if y is None else self.function(x, y)


def run_natively(program, calls):
    """Run a program in etlab's own runtime, once for each list of inputs."""
    method = Runtime.get().load_program(program).load_method("forward")
    return [
        [x.clone() if isinstance(x, torch.Tensor) else x for x in method.execute(list(call))]
        for call in copy.deepcopy(calls)
    ]


def check(model, *inputs, partitioner=None, **options):
    """Lower, run in the official runtime, compare with eager; the graph with its delegates."""
    module = model if isinstance(model, nn.Module) else Calls(model)
    return check_backend(
        partitioner or XnnpackPartitioner(),
        module,
        *inputs,
        runners=[run_official_repeatedly, run_natively],
        **options,
    )


def payloads(edge):
    """The graphs of all payloads."""
    return [read_payload(module.processed_bytes).graph for module in lowered_modules(edge)]


def node_names(edge):
    """Names of the nodes of all payloads, in order."""
    return [type(n.xnode_union).__name__ for graph in payloads(edge) for n in graph.xnodes]
