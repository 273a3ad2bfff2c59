"""OpenVINO as a delegate: what it takes, that it computes what eager does, and what goes wrong."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import nn
from torch.export import Dim

import etlab
from etlab.backends.openvino import OpenvinoPartitioner, package
from etlab.errors import BackendMissingError, EtlabError
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.runtime import Runtime
from etlab.runtime.threads import set_thread_count, thread_count
from etlab.testing_backends import check_backend, lowered_modules, nodes_left

pytest.importorskip("openvino", reason="openvino is not installed")

torch.manual_seed(0)
X = torch.randn(2, 3, 9, 7)


def run_natively(program, calls):
    method = Runtime.get().load_program(program).load_method("forward")
    return [method.execute(list(call)) for call in calls]


def check(module, *inputs, **options):
    return check_backend(OpenvinoPartitioner(), module, *inputs, runners=[run_natively], **options)


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Picture(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 5, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(5)
        self.deep = nn.Conv2d(5, 5, 3, groups=5)
        self.last = nn.Linear(5, 4)

    def forward(self, x):
        x = nn.functional.max_pool2d(self.norm(self.first(x)).relu(), 2, 1)
        return self.last(nn.functional.hardswish(self.deep(x)).mean((2, 3))).softmax(-1)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(8), nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).view(2, 6, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        return nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


@pytest.mark.parametrize(
    ("module", "inputs"),
    [
        (Picture(), (X,)),
        (Attention(), (torch.randn(2, 6, 8),)),
        (Function(lambda x, y: nn.functional.gelu(x * y + 2.5)), (X, X)),
        (Function(lambda x: torch.cat([x, x.flip(1)], 1).sum(1, keepdim=True)), (X,)),
        (Function(lambda x: (x > 0).to(torch.int64).cumsum(2)), (X,)),
        (nn.Embedding(5, 3), (torch.tensor([[0, 4], [2, 2]]),)),
        (Function(lambda x: (x.amax(1), x.argmax(1), x.half())), (X,)),
    ],
)
def test_openvino_computes_what_eager_does(module, inputs):
    check(module.eval(), *inputs, is_whole=False)


def test_sizes_that_vary_reach_the_model():
    check(
        nn.Sequential(nn.Linear(8, 4), nn.ReLU()),
        torch.randn(3, 8),
        more_inputs=[[torch.randn(7, 8)], [torch.randn(2, 8)]],
        dynamic_shapes={"input": {0: Dim("rows", min=2, max=9)}},
    )


def test_nodes_that_it_does_not_know_stay_with_the_reason():
    model = nn.Sequential(nn.Linear(8, 8), Function(torch.special.i0))
    run = etlab.export(model, (torch.randn(3, 8),), partitioner="openvino")
    assert "does not know" in " ".join(group.reason for group in run.delegation().reasons)


def test_operators_can_be_left_out_by_type():
    partitioner = OpenvinoPartitioner(op_types_to_skip={"aten.relu.default"})
    model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
    edge = check_backend(
        partitioner, model, torch.randn(3, 8), runners=[run_natively], is_whole=False
    )
    assert nodes_left(edge) == ["aten.relu.default"]


def test_compile_specs_are_those_of_the_official_partitioner():
    partitioner = OpenvinoPartitioner([CompileSpec("device", b"CPU")])
    edge = check_backend(partitioner, nn.ReLU(), X, runners=[run_natively])
    (lowered,) = lowered_modules(edge)
    assert lowered.backend_id == "OpenvinoBackend"
    assert CompileSpec("device", b"CPU") in lowered.compile_specs


@pytest.mark.parametrize("threads", [1, 2])
def test_any_number_of_threads_gives_the_same_values(threads):
    before = thread_count()
    try:
        set_thread_count(threads)
        check(Picture().eval(), X)
    finally:
        set_thread_count(before)


def test_damaged_bytes_are_an_error_in_openvinos_words():
    run = etlab.export(nn.ReLU(), (X,), partitioner="openvino")
    program = bytearray(run.file.data)
    at = program.find(b"meta=1.0;ov=")
    program[at : at + 12] = b"xxxx=1.0;ov="
    with pytest.raises(EtlabError, match="importing the model"):
        Runtime.get().load_program(bytes(program)).load_method("forward")


def test_a_missing_package_is_named_where_it_is_chosen(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "openvino" else find(name)
    )
    from etlab.backends.openvino import partitioner

    partitioner.known_operators.cache_clear()
    (choice,) = [one for one in etlab.list_partitioners() if one.name == "openvino"]
    assert choice.missing == "openvino: pip install 'etlab[openvino]'"
    assert not package.is_installed()
    with pytest.raises(BackendMissingError, match=r"pip install 'etlab\[openvino\]'"):
        etlab.export(nn.ReLU(), (X,), partitioner="openvino")


def test_an_openvino_that_does_not_tell_its_operators_is_refused_in_words(monkeypatch):
    from openvino.frontend.pytorch.torchdynamo import op_support

    from etlab.backends.openvino import partitioner

    class Mute:
        def __init__(self, options):
            pass

    monkeypatch.setattr(op_support, "OperatorSupport", Mute)
    partitioner.known_operators.cache_clear()
    with pytest.raises(BackendMissingError, match="does not say which operators"):
        partitioner.known_operators()


SIGNALLED = """
import faulthandler, gc, signal, sys
faulthandler.enable()  # as a notebook's kernel does: signals get a stack of their own
sys.path.insert(0, {folder!r})
from test_openvino import Attention, check
import torch
check(Attention().eval(), torch.randn(2, 6, 8), is_whole=False)
gc.collect()
arrived = []
signal.signal(signal.SIGUSR1, lambda *_: arrived.append(True))
signal.raise_signal(signal.SIGUSR1)
print("arrived", arrived)
"""


def test_signals_arrive_after_a_model_is_gone():
    code = SIGNALLED.format(folder=str(Path(__file__).parent))
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert "arrived [True]" in result.stdout
