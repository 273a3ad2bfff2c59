"""What users hand to every door of the workbench, checked in one place: a model and its inputs."""

from typing import Any

import torch

from etlab.errors import InvalidArgumentError


def check_model(model: Any, who: str) -> torch.nn.Module:
    """`model` if it can be exported.

    Args:
        model: what the user gave.
        who: the function or view that was called, for the message.

    Raises:
        InvalidArgumentError: it is no module.
    """
    if isinstance(model, torch.nn.Module):
        return model
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise InvalidArgumentError(
            f"{who}: expected a torch.nn.Module, got the class {model.__name__} itself; make one:"
            f" {model.__name__}(…)"
        )
    raise InvalidArgumentError(
        f"{who}: expected a torch.nn.Module as the model, got {_describe(model)}; wrap a function"
        " in a module whose forward calls it"
    )


def as_arguments(inputs: Any, who: str) -> tuple[Any, ...]:
    """The positional arguments of one call: a tuple as it is, anything else as the only argument.

    Raises:
        InvalidArgumentError: None, which says nothing of what the model takes.
    """
    if inputs is None:
        raise InvalidArgumentError(
            f"{who}: expected example inputs (a tensor, or a tuple of positional arguments), got"
            " None; give () for a model without inputs and (None,) for one that takes a None"
        )
    return inputs if isinstance(inputs, tuple) else (inputs,)


def _describe(value: Any) -> str:
    text = repr(value)
    kind = type(value).__name__
    return f"{kind} {text}" if len(text) <= 40 and "\n" not in text else kind
