"""Functions of complex tensors, in programs that begin and end with real ones."""

from collections.abc import Callable

import pytest
import torch
from torch import nn

from etlab.errors import EtlabError
from etlab.exir import ExecutorchBackendConfig, extended_operators, to_edge_transform_and_lower
from etlab.runtime import Runtime, _native
from etlab.testing_graphs import check_lowering


class Calls(nn.Module):
    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs)


SIGNAL = torch.randn(2, 12, generator=torch.Generator().manual_seed(0))

OFFICIAL: dict[str, Callable[..., torch.Tensor]] = {
    "spectrum": lambda x: torch.fft.rfft(x).abs(),
    "and back": lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2),
    "of planes": lambda x: torch.fft.irfft2(torch.fft.rfft2(x), s=x.shape),
    "power": lambda x: (torch.fft.rfft(x) * torch.fft.rfft(x).conj()).real,
    "phase": lambda x: torch.fft.rfft(x).angle(),
    "phase of a real": lambda x: x.angle(),
    "mean": lambda x: torch.fft.rfft(x).mean().abs() + torch.fft.rfft(x).mean(1, True).real,
    "equality": lambda x: torch.fft.rfft(x) == torch.fft.rfft(x.round()),
    "inequality": lambda x: torch.fft.rfft(x) != torch.fft.rfft(x.abs()),
    "square": lambda x: (torch.fft.rfft(x) ** 2).imag,
    "imaginary unit": lambda x: (1j * x + torch.fft.rfft(x, 22) * (2 - 1j)).imag,
    "parts": lambda x: torch.view_as_real(torch.fft.rfft(x)),
}
EXTENDED: dict[str, Callable[..., torch.Tensor]] = {
    "complex transforms": lambda x: torch.fft.ifft2(torch.fft.fft2(x)).real,
    "polar": lambda x: torch.polar(x.abs(), x).imag,
    "exp and log": lambda x: (torch.fft.rfft(x).exp() + torch.fft.rfft(x + 1).log()).real,
    "roots": lambda x: (torch.fft.rfft(x).sqrt() + torch.fft.rfft(x + 9) ** 0.3).imag,
    "reciprocal": lambda x: torch.fft.rfft(x + 1).reciprocal().imag,
    "from parts": lambda x: torch.complex(x, x + 1).abs(),
}


@pytest.mark.parametrize("name", OFFICIAL)
def test_transforms_compute_what_eager_does(name: str) -> None:
    check_lowering(Calls(OFFICIAL[name]), SIGNAL)


@pytest.mark.parametrize("name", EXTENDED)
@pytest.mark.filterwarnings("ignore:aten.*has no kernel in the official runtime")
def test_extended_operators_hold_what_the_official_runtime_lacks(name: str) -> None:
    program = torch.export.export(Calls(EXTENDED[name]), (SIGNAL,), strict=False)
    lowered = to_edge_transform_and_lower(program).to_executorch(
        ExecutorchBackendConfig(extended_operators=True)
    )
    method = Runtime.get().load_program(lowered.buffer).load_method("forward")
    torch.testing.assert_close(method.execute([SIGNAL])[0], EXTENDED[name](SIGNAL))


def test_extended_operators_are_refused_by_default_with_the_way_out() -> None:
    program = torch.export.export(Calls(EXTENDED["from parts"]), (SIGNAL,), strict=False)
    lowered = to_edge_transform_and_lower(program)
    with pytest.raises(EtlabError, match="extended_operators=True"):
        lowered.to_executorch()


def test_every_extended_operator_has_a_kernel() -> None:
    names = extended_operators.NAMES | extended_operators.WHOLE
    assert set(_native.operator_names()) >= names
