"""TOSA delegates of ExecuTorch's Arm backend and ours are of one format."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import etlab
from etlab.backends.arm.format.file import read_graph, write_graph
from etlab.backends.arm.tosa import TosaCompileSpec
from etlab.numerics.official import is_available
from etlab.runtime import Runtime

pytest.importorskip("tosa_serializer", reason="tosa-tools is not installed")
pytestmark = pytest.mark.skipif(
    not is_available(), reason="executorch is not installed: pip install 'etlab[official]'"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arm")
    specs = [(spec.key, spec.value) for spec in TosaCompileSpec().to_list()]
    torch.save(specs, folder / "specs.pt")
    script = Path(__file__).with_name("official_arm.py")
    done = subprocess.run([sys.executable, script, folder], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_official_programs_run_and_compute_what_their_quantized_model_does(made):
    inputs, expected = torch.load(made / "results.pt")
    method = Runtime.get().load_program(str(made / "official.pte")).load_method("forward")
    (output,) = method.execute(list(inputs))
    step = expected.unique().diff().min().item()  # both round, not always to the same side
    assert (output - expected).abs().max().item() <= 1.01 * step


def test_official_payloads_are_read_shown_and_written_again(made):
    file = etlab.load(made / "official.pte")
    text = file.delegate_text()
    assert "CONV2D(" in text
    assert "DEPTHWISE_CONV2D(" in text
    (segment,) = [one for one in file.content.segments if bytes(one[4:8]) == b"TOSA"]
    graph = read_graph(segment)
    assert read_graph(write_graph(graph)) == graph


def test_our_compile_specs_are_official_ones(made):
    assert (made / "spec.txt").read_text() == "TOSA-1.0+INT+int16"
