"""A calibrated model whose layers can be quantized one by one, without converting it again."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx, nn

from etlab.quantize.base import QuantizeRequest, quiet_imports
from etlab.quantize.pt2e.constants import state_of
from etlab.quantize.pt2e.flow import calibrate, kept_state, prepare_pt2e
from etlab.quantize.pt2e.quantizer import modules_around
from etlab.quantize.pt2e.rules import ANNOTATION, FUSED, NORMS, PRODUCTS

with quiet_imports():
    from torchao.quantization.pt2e.observer import _is_activation_post_process
    from torchao.quantization.pt2e.quantizer import Quantizer as Pt2eQuantizer

decomposed = torch.ops.quantized_decomposed


@dataclass(slots=True)
class _Chosen:
    """Which layers compute with integers now.

    Attributes:
        layers: their names.
        others: whether everything that is no layer does.
    """

    layers: frozenset[str] = frozenset()
    others: bool = False


class _Switch(nn.Module):
    """Rounds to integers and back, while one of those that it serves is chosen.

    Args:
        observer: a calibrated observer.
        layers: names of the layers that it serves.
        serves_others: whether operators that are no layers read or write its value.
        chosen: which layers are chosen.
        is_constant: whether it sees the same value in every run.
    """

    def __init__(
        self,
        observer: Any,
        layers: Collection[str],
        serves_others: bool,
        chosen: _Chosen,
        is_constant: bool,
    ) -> None:
        super().__init__()
        self.layers, self.serves_others = frozenset(layers), serves_others
        self.chosen, self.is_constant = chosen, is_constant
        self.limits = (observer.quant_min, observer.quant_max)
        self.dtype = observer.dtype
        self.eps = float(getattr(observer, "eps", torch.finfo(torch.float32).eps))
        self.axis = getattr(observer, "ch_axis", None)
        self.is_dynamic = bool(getattr(observer, "is_dynamic", False))
        self.scale: Any = None
        self.zero_point: Any = None
        if not self.is_dynamic:
            self.scale, self.zero_point = observer.calculate_qparams()
        self.is_per_channel = not self.is_dynamic and self.scale.numel() > 1
        self.rounded: torch.Tensor | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """`x`, or what integers keep of it."""
        is_on = bool(self.layers & self.chosen.layers) or (
            self.serves_others and self.chosen.others
        )
        if not is_on:
            return x
        if self.rounded is None or not self.is_constant:
            self.rounded = self._round(x)
        return self.rounded

    def _round(self, x: torch.Tensor) -> torch.Tensor:
        low, high = self.limits
        scale, zero = self.scale, self.zero_point
        if self.is_dynamic:
            scale, zero = decomposed.choose_qparams.tensor(x, low, high, self.eps, self.dtype)
        if self.is_per_channel:
            rest: tuple[Any, ...] = (scale, zero, self.axis, low, high, self.dtype)
            steps = decomposed.quantize_per_channel(x, *rest)
            return _tensor(decomposed.dequantize_per_channel(steps, *rest))
        rest = (float(scale), int(zero), low, high, self.dtype)
        steps = decomposed.quantize_per_tensor(x, *rest)
        return _tensor(decomposed.dequantize_per_tensor(steps, *rest))


def _tensor(value: Any) -> torch.Tensor:
    """What an operator returned; operators are untyped."""
    assert isinstance(value, torch.Tensor)
    return value


@dataclass(slots=True)
class SwitchedModel:
    """A model whose layers are quantized as one asks.

    Attributes:
        layers: names of modules with a quantized weight, and how many elements that has.
        call: the model, with what is chosen.
    """

    layers: dict[str, int]
    call: fx.GraphModule
    _chosen: _Chosen = field(default_factory=_Chosen)

    @contextmanager
    def quantized(self, layers: Collection[str], *, others: bool) -> Iterator[Callable[..., Any]]:
        """The model with these layers quantized, and what is no layer if `others`."""
        self._chosen.layers, self._chosen.others = frozenset(layers), others
        try:
            with torch.no_grad(), kept_state(self.call):
                yield self.call
        finally:
            self._chosen.layers, self._chosen.others = frozenset(), False


def switched_model(
    request: QuantizeRequest, quantizer: Pt2eQuantizer, *, steps: int | None = None
) -> SwitchedModel:
    """Prepare and calibrate once.

    Args:
        request: the model and its data.
        quantizer: of torchao's contract.
        steps: how many samples are enough; None takes all.
    """
    model = prepare_pt2e(request.exported.module(), quantizer)
    calibrate(model, request.calibration, steps=steps)
    chosen, state = _Chosen(), state_of(model.graph)
    layers: dict[str, int] = {}
    for number, node in enumerate(list(model.graph.nodes)):
        observer = getattr(model, str(node.target), None) if node.op == "call_module" else None
        if observer is None or not _is_activation_post_process(observer):
            continue
        source: Any = node.args[0]
        names, serves_others = _served(node)
        is_constant = source.op == "get_attr" and str(source.target) not in state
        if is_constant:
            for user in node.users:
                if user.target in PRODUCTS and user.args[1] is node:
                    layers[_layer(user)] = source.meta["val"].numel()
        switch = _Switch(observer, names, serves_others, chosen, is_constant)
        model.add_submodule(f"switch_{number}", switch)
        node.target = f"switch_{number}"
    model.recompile()
    return SwitchedModel(layers, model, chosen)


def _served(node: fx.Node) -> tuple[set[str], bool]:
    """The layers that write or read an observed value, and whether others do."""
    names, serves_others = set(), False
    for user in node.users:
        if user.target in PRODUCTS:
            names.add(_layer(user))
        elif ANNOTATION in user.meta:
            serves_others = True
    maker: Any = node.args[0]
    while maker.target in (*FUSED, *NORMS) and ANNOTATION in maker.meta:
        before: Any = maker.args[0]
        if before.target not in (*PRODUCTS, *NORMS):
            break
        maker = before
    if maker.target in PRODUCTS:
        names.add(_layer(maker))
    elif ANNOTATION in maker.meta:
        serves_others = True
    return names, serves_others


def _layer(node: fx.Node) -> str:
    """The name of the innermost module around a node; the node's own where there is none."""
    names, _ = modules_around(node)
    return names[-1] if names and names[-1] else node.name
