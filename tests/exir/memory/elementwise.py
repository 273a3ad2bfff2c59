"""A program for every operator that may write over its input."""

import torch
from exir.lowering import Function, seeded

_WHOLE = {"bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor"}
_LOGICAL = {"logical_not", "logical_and", "logical_or", "logical_xor"}
_ARGUMENTS = {"clamp.out": (-0.5, 0.5), "leaky_relu.out": (0.2,)}


def program_of(name: str) -> tuple[Function, tuple[torch.Tensor, ...]]:
    """A function whose last operator is the named one, on results that nothing else needs."""
    operator, overload = name.removeprefix("aten::").split(".")
    packet = getattr(torch.ops.aten, operator)
    kind = torch.float32
    if operator in _WHOLE:
        kind = torch.int32
    elif operator in _LOGICAL:
        kind = torch.bool
    first = (seeded(3, 37) * 3).to(kind)
    second = (seeded(3, 37, seed=1) * 3 + 0.1).to(kind)

    def fresh(x: torch.Tensor) -> torch.Tensor:
        return x.flip(0)  # a result that dies with the next operator

    if operator == "where":
        return Function(lambda x, y: torch.where(x > 0, fresh(x), fresh(y))), (first, second)
    if operator == "masked_fill":
        return Function(lambda x, y: fresh(x).masked_fill(y > 0, 0.5)), (first, second)
    if name == "aten::pow.Scalar_out":
        return Function(lambda x: packet.Scalar(2.0, fresh(x))), (first,)
    if overload in ("Scalar_out", "Tensor_Scalar_out", "Scalar_mode_out"):
        chosen = getattr(packet, overload.removesuffix("_out"))
        options = {"rounding_mode": "floor"} if "mode" in overload else {}
        return Function(lambda x: chosen(fresh(x), 2, **options)), (first,)
    if overload == "out_mode":
        return Function(lambda x, y: torch.div(fresh(x), fresh(y), rounding_mode="trunc")), (
            first,
            second,
        )
    plain = next(one for one in ("Tensor", "Tensor_Tensor", "default") if one in packet.overloads())
    schema = getattr(packet, plain)._schema
    if sum(argument.type.kind() == "TensorType" for argument in schema.arguments) == 2:
        return Function(lambda x, y: packet(fresh(x), fresh(y))), (first, second)
    extra = _ARGUMENTS.get(name.removeprefix("aten::"), ())
    return Function(lambda x: packet(fresh(x), *extra)), (first,)
