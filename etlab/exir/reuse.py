"""In-place reuse: a result computed element by element takes the memory of an input that dies.

    y = conv(x)                   y lies at 0
    z = relu(y)  # y's last use   z lies at 0, where y was

Which operators may is a table: their kernels, here and in the official runtime, read an element of
an input before they write that element of the result, and never read it again.
"""

from etlab.exir.memory.interval import Interval
from etlab.exir.memory.lifetimes import lifetimes_of
from etlab.exir.ops import OutVariant
from etlab.exir.schedule import Call, Role, Schedule, Value


def _names(text: str) -> frozenset[str]:
    return frozenset(f"aten::{name}" for name in text.split())


ELEMENT_BY_ELEMENT = _names(
    """
    abs.out acos.out acosh.out asin.out asinh.out atan.out atanh.out bitwise_not.out ceil.out
    clamp.out cos.out cosh.out elu.out erf.out exp.out expm1.out floor.out gelu.out hardtanh.out
    leaky_relu.out log.out log10.out log1p.out log2.out logical_not.out logit.out neg.out
    reciprocal.out relu.out round.out rsqrt.out sigmoid.out sign.out sin.out sinh.out sqrt.out
    tan.out tanh.out trunc.out
    add.out add.Scalar_out sub.out sub.Scalar_out mul.out mul.Scalar_out div.out div.Scalar_out
    div.out_mode div.Scalar_mode_out rsub.Scalar_out remainder.Tensor_out remainder.Scalar_out
    fmod.Tensor_out fmod.Scalar_out floor_divide.out atan2.out maximum.out minimum.out
    pow.Tensor_Scalar_out pow.Tensor_Tensor_out pow.Scalar_out
    bitwise_and.Tensor_out bitwise_or.Tensor_out bitwise_xor.Tensor_out
    logical_and.out logical_or.out logical_xor.out
    where.self_out masked_fill.Scalar_out
    """
)


def reuse_in_place(schedule: Schedule) -> None:
    """Let results take the memory of inputs that nothing needs any more, in place.

    Inputs of the method, state and constants keep theirs.
    """
    lives = lifetimes_of(schedule)
    kept = {output.root for output in schedule.outputs if isinstance(output, Value)}
    kept |= {value.root for _, _, carried in schedule.loops for value in carried}
    for step, call in enumerate(schedule.calls):
        source = _source_of(call, step, lives, kept)
        if source is None:
            continue
        (result,) = call.outputs
        life = lives.pop(result)
        root = source.root
        lives[root] = Interval(lives[root].nbytes, lives[root].first, life.last)
        if result in kept:
            kept.add(root)
        result.base = source


def _source_of(
    call: Call, step: int, lives: dict[Value, Interval], kept: set[Value]
) -> Value | None:
    """The input whose memory the call's result may take."""
    operator = call.operator
    if not isinstance(operator, OutVariant) or operator.full_name not in ELEMENT_BY_ELEMENT:
        return None
    (result,) = call.outputs
    if result.base is not None or result.role is not Role.RESULT or result not in lives:
        return None
    if lives[result].first != step or result.spec is None:
        return None
    read = [value for value in call.arguments if type(value) is Value and value is not result]
    tensors = [value for value in read if value.spec is not None]
    is_fixed = all(value.spec.is_static for value in tensors if value.spec is not None)
    if len(tensors) > 1 and not is_fixed:  # one may be broadcast at run time
        return None
    for value in tensors:
        root = value.root
        if root.role is not Role.RESULT or root in kept or root not in lives:
            continue
        if lives[root].last != step or lives[root].nbytes != lives[result].nbytes:
            continue
        if all(_lies_alike(other, result) for other in tensors if other.root is root):
            return value
    return None


def _lies_alike(first: Value, second: Value) -> bool:
    """Whether element i of both has the same place."""
    return (
        first.spec is not None
        and second.spec is not None
        and first.spec.sizes == second.spec.sizes
        and first.spec.dtype == second.spec.dtype
        and first.spec.dim_order == second.spec.dim_order
        and first.spec.dynamism == second.spec.dynamism
    )
