"""Silero VAD, which hears whether somebody speaks (0.31 M parameters, 16 kHz).

Architecture and weights: package silero-vad (MIT), its TorchScript file; the package's safetensors
file holds other weights.
"""

import warnings

import torch
import torch.nn.functional as F  # noqa: N812  torch's own convention
from torch import nn

from etlab.models.packages import frozen, package_file

PACKAGES = ("silero-vad",)

SAMPLE_RATE = 16000
CHUNK = 512  # samples of one call, 32 ms
_CONTEXT = 64  # samples of the chunk before that a call sees too
_BINS, _WIDTH = 129, 128


class SileroVAD(nn.Module):
    """(1, 512) samples to the (1, 1) probability of speech; what it remembers are buffers."""

    def __init__(self) -> None:
        """Make the network with random weights; `load()` gives the trained one."""
        super().__init__()
        self.spectrum = nn.Conv1d(1, 2 * _BINS, 256, stride=128, bias=False)
        self.encoder = nn.ModuleList(
            [
                nn.Conv1d(_BINS, 128, 3, padding=1),
                nn.Conv1d(128, 64, 3, stride=2, padding=1),
                nn.Conv1d(64, 64, 3, stride=2, padding=1),
                nn.Conv1d(64, _WIDTH, 3, padding=1),
            ]
        )
        self.recurrent = nn.LSTMCell(_WIDTH, _WIDTH)
        self.head = nn.Conv1d(_WIDTH, 1, 1)
        self.register_buffer("state", torch.zeros(2, 1, _WIDTH), persistent=False)
        self.register_buffer("context", torch.zeros(1, _CONTEXT), persistent=False)
        self.state: torch.Tensor
        self.context: torch.Tensor

    def forward(self, chunk: torch.Tensor) -> torch.Tensor:
        """Hear one chunk and remember it."""
        x = torch.cat((self.context, chunk), dim=1)
        x = self.spectrum(F.pad(x.unsqueeze(1), (0, 64), mode="reflect"))
        x = (x[:, :_BINS] ** 2 + x[:, _BINS:] ** 2).sqrt()  # (1, 129, 4), magnitudes
        for layer in self.encoder:
            x = F.relu(layer(x))
        hidden, cell = self.recurrent(x.squeeze(-1), (self.state[0], self.state[1]))
        self.state.copy_(torch.stack((hidden, cell)))
        self.context.copy_(chunk[:, -_CONTEXT:])
        return torch.sigmoid(self.head(F.relu(hidden).unsqueeze(-1))).mean(-1)


_NAMES = {
    "spectrum.weight": "stft.forward_basis_buffer",
    "head.weight": "decoder.decoder.2.weight",
    "head.bias": "decoder.decoder.2.bias",
    **{f"recurrent.{part}_{gate}": f"decoder.rnn.{part}_{gate}"
       for part in ("weight", "bias") for gate in ("ih", "hh")},
    **{f"encoder.{layer}.{part}": f"encoder.{layer}.reparam_conv.{part}"
       for layer in range(4) for part in ("weight", "bias")},
}  # fmt: skip


def original() -> torch.jit.ScriptModule:
    """The package's own TorchScript model: `(chunk, 16000)`, after `reset_states()`.

    Raises:
        NotFoundError: the package is not installed.
    """
    path = package_file(PACKAGES[0], "silero_vad/data/silero_vad.jit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the form of the file is theirs
        model: torch.jit.ScriptModule = torch.jit.load(  # type: ignore[no-untyped-call]
            str(path), map_location="cpu"
        )
    return model.eval()


def load() -> SileroVAD:
    """The network with its trained weights and an empty memory.

    Raises:
        NotFoundError: the weights' package is not installed.
    """
    source = original().state_dict()
    model = SileroVAD()
    model.load_state_dict(
        {name: source[f"_model.{theirs}"].detach().clone() for name, theirs in _NAMES.items()}
    )
    return frozen(model)
