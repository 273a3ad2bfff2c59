"""How tensors cross the border to native code, which knows neither torch nor numpy."""

from typing import Any

import numpy as np
import torch

from etlab.errors import InvalidArgumentError
from etlab.runtime.dtypes import dtype_of, scalar_type_of

# (address, dtype number, sizes, strides in elements)
TensorDescription = tuple[int, int, tuple[int, ...], tuple[int, ...]]


def describe_tensor(tensor: torch.Tensor) -> TensorDescription:
    """What native code needs of `tensor`; keep the tensor alive while it is used."""
    return (
        tensor.data_ptr(),
        scalar_type_of(tensor.dtype),
        tuple(tensor.shape),
        tuple(tensor.stride()),
    )


def allocate_tensor(
    scalar_type: int, sizes: tuple[int, ...], strides: tuple[int, ...]
) -> torch.Tensor:
    """A tensor with memory of its own, which native code fills."""
    return torch.empty_strided(sizes, strides, dtype=dtype_of(scalar_type))


def is_plain(value: Any) -> bool:
    """Whether native code can read `value` as it is: an ordinary dense CPU tensor."""
    return (
        type(value) is torch.Tensor
        and value.is_cpu
        and value.layout is torch.strided
        and not (value.is_quantized or value.is_conj() or value.is_neg())
        and not torch._C._functorch.is_functorch_wrapped_tensor(value)
    )


def as_tensor(value: Any, what: str) -> torch.Tensor:
    """`value` as a dense CPU tensor over the same memory where that is possible.

    Args:
        value: a torch tensor, a numpy array, or anything with `__dlpack__`.
        what: names the value in errors, for example "input 0".

    Raises:
        InvalidArgumentError: it has no elements on the CPU to read.
    """
    if isinstance(value, np.ndarray | np.generic):
        value = _from_numpy(value, what)
    elif not isinstance(value, torch.Tensor):
        if not hasattr(value, "__dlpack__"):
            raise InvalidArgumentError(
                f"{what}: a {type(value).__name__} cannot be read as a tensor; give a torch"
                " tensor, a numpy array or an object with __dlpack__"
            )
        try:
            value = torch.utils.dlpack.from_dlpack(value)
        except Exception as error:
            raise InvalidArgumentError(
                f"{what}: a {type(value).__name__} cannot be read as a tensor: {error}"
            ) from error
    if value.device.type != "cpu":
        raise InvalidArgumentError(
            f"{what}: the tensor is on {value.device}, expected the CPU; move it with .cpu()"
        )
    if value.layout != torch.strided or value.is_quantized:
        raise InvalidArgumentError(
            f"{what}: expected a dense tensor, got layout {value.layout}"
            f"{' (quantized)' if value.is_quantized else ''}; convert it with .to_dense() or"
            " .dequantize()"
        )
    if torch._C._functorch.is_functorch_wrapped_tensor(value) or isinstance(
        value, torch._subclasses.FakeTensor
    ):
        raise InvalidArgumentError(f"{what}: the tensor is traced or fake and has no elements")
    tensor: torch.Tensor = value.detach().resolve_conj().resolve_neg()
    return tensor


def check_writable(value: Any, what: str) -> None:
    """Refuse an input that a program updates in place but whose memory cannot take the update.

    Raises:
        InvalidArgumentError: the message names `what` and the way out.
    """
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not _is_writable(value)):
        raise InvalidArgumentError(
            f"{what}: the model updates it in place, but this numpy {_kind(value)} cannot be"
            " written; give a copy: numpy.array(value)"
        )
    if isinstance(value, torch.Tensor) and torch._debug_has_internal_overlap(value) == 1:
        raise InvalidArgumentError(
            f"{what}: the model updates it in place, but several elements of this tensor share"
            " memory (it was expanded); give value.clone()"
        )


def write_back(updated: torch.Tensor, given: Any) -> None:
    """Bring what a run made of an input to the caller's own memory, unless it is there already."""
    if isinstance(given, np.ndarray):
        if updated.data_ptr() != given.ctypes.data or not given.dtype.isnative:
            np.copyto(given, updated.numpy(), casting="equiv")
        return
    target = given if isinstance(given, torch.Tensor) else as_tensor(given, "input")
    is_lazy = target.is_conj() or target.is_neg()
    if is_lazy or target.data_ptr() != updated.data_ptr():
        with torch.no_grad():
            target.copy_(updated)


def _is_writable(array: Any) -> bool:
    overlaps = any(
        stride == 0 and size > 1 for stride, size in zip(array.strides, array.shape, strict=True)
    )
    return bool(array.flags.writeable) and not overlaps


def _kind(value: Any) -> str:
    return "scalar" if isinstance(value, np.generic) else "array"


def _from_numpy(array: Any, what: str) -> torch.Tensor:
    """A tensor over the array; copied when torch cannot look at such memory."""
    array = np.asarray(array)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    is_whole = all(stride >= 0 and stride % array.itemsize == 0 for stride in array.strides)
    if not array.flags.writeable or not array.flags.aligned or not is_whole:
        array = array.copy()
    try:
        return torch.from_numpy(array)
    except TypeError as error:
        raise InvalidArgumentError(
            f"{what}: a numpy array of dtype {array.dtype} cannot be read as a tensor: {error}"
        ) from error
