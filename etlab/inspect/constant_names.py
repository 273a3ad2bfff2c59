"""Names of a program's constants by their content: a file carries none, the graphs behind it do."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch

from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.delegate import LoweredModule

# As delegates keep the weights of convolutions: output channels last but one, and depthwise ones.
_LAYOUTS = ((0, 2, 3, 1), (1, 2, 3, 0))
_MADE = ("_folded_bias", "_folded")  # what passes append to the name of what they computed from


def digest(content: Any) -> bytes:
    """What content is known by."""
    return hashlib.blake2b(content, digest_size=16).digest()


def constant_names(graphs: Sequence[EdgeGraph], parameters: Iterable[str] = ()) -> dict[bytes, str]:
    """The name of every tensor of the graphs and of what they delegated, by `digest`.

    Args:
        graphs: edge graphs of the program.
        parameters: names of the model's own tensors; what a pass made of one of them, such as
            `p_stem_conv_weight_folded`, gets its name.
    """
    known = {name.replace(".", "_"): name for name in parameters}
    names: dict[bytes, str] = {}
    for name, tensor in _tensors(graphs):
        if tensor.device.type != "cpu" or not tensor.numel():
            continue
        shown = _readable(name, known)
        forms = [tensor, *(tensor.permute(order) for order in _LAYOUTS if tensor.dim() == 4)]
        for form in forms:
            flat = form.detach().contiguous().reshape(-1).view(torch.uint8)
            names.setdefault(digest(flat.numpy().data), shown)
    return names


def _tensors(graphs: Iterable[EdgeGraph]) -> Iterator[tuple[str, torch.Tensor]]:
    for graph in graphs:
        yield from sorted(graph.tensors.items())
        parts = (part for _, part in sorted(graph.submodules.items()))
        yield from _tensors(
            part.original if isinstance(part, LoweredModule) else part
            for part in parts
            if isinstance(part, LoweredModule | EdgeGraph)
        )


def _readable(name: str, known: dict[str, str]) -> str:
    for ending in _MADE:
        plain = name.removesuffix(ending)
        bare = plain.partition("_")[2]  # without the mark of a parameter, buffer or constant
        if plain != name and bare in known:
            original = known[bare]
            if ending == "_folded_bias":
                return f"{original.rpartition('.')[0]}.bias"
            return original
    return name
