"""What the tests of the TOSA lowering share."""

import torch

import etlab
from etlab.backends.arm.arithmetic import evaluate
from etlab.backends.arm.format.file import read_graph
from etlab.backends.arm.format.operators import DType, name_of
from etlab.backends.arm.reference_model import run as run_reference_model
from etlab.exir.partition import LoweredModule


def waves(*shape, phase=0.0):
    """Numbers between -2 and 2, all different."""
    count = torch.Size(shape).numel()
    return (torch.linspace(0, 40, count) + phase).sin().reshape(shape) * 2


def lowered_run(module, *inputs, **options):
    """A run of a quantized module, its samples among them."""
    torch.manual_seed(0)
    data = [inputs, tuple(x * 0.7 + 0.1 for x in inputs)]
    chosen = {"quantizer": "int8-arm", "partitioner": "tosa"} | options
    return etlab.export(module.eval(), inputs, calibration=data, **chosen)


def delegates(run):
    """The delegated subgraphs of a run."""
    edge = run.stages["delegated"].edge_graph()
    return [part for part in edge.submodules.values() if isinstance(part, LoweredModule)]


def operators(data):
    """The operators of a graph but constants, in order."""
    named = [name_of(operator.attribute) for operator in read_graph(data).main.operators]
    return [name for name in named if not name.startswith("CONST")]


def random_inputs(data, seed):
    """Integers of the whole range for each input of a graph."""
    block = read_graph(data).main
    generator = torch.Generator().manual_seed(seed)
    shapes = {entry.name: entry.shape for entry in block.tensors}
    kinds = {entry.name: entry.type for entry in block.tensors}
    return [random_integers(kinds[name], shapes[name], generator) for name in block.inputs]


def random_integers(kind, shape, generator):
    """Integers of 8 or 16 bits."""
    bits, dtype = (8, torch.int8) if kind is DType.INT8 else (16, torch.int16)
    limit = 2 ** (bits - 1)
    return torch.randint(-limit, limit, shape, generator=generator).to(dtype)


def check_against_reference_model(data, rounds=2):
    """Assert that PyTorch's and the reference model's integers are equal, every one."""
    graph = read_graph(data)
    for seed in range(rounds):
        inputs = random_inputs(data, seed)
        ours = evaluate(graph, inputs)
        theirs = run_reference_model(data, [x.numpy() for x in inputs])
        for name, array in zip(graph.main.outputs, theirs, strict=True):
            assert torch.equal(ours[name], torch.from_numpy(array).reshape(ours[name].shape)), name
