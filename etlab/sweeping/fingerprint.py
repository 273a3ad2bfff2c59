"""Digests of what a result depends on: a model's code and weights, data, options, versions."""

import functools
import hashlib
import inspect
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from etlab.errors import InvalidArgumentError
from etlab.sweeping.objectives import Objective

FOR_WORKERS = (
    "it cannot go to worker processes; give a function that makes the model in its place, or"
    " workers=0 to stay in this process"
)
_TELL_APART = "results are kept by what they depend on, and this cannot be told from others"
_PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)


def digest(*parts: Any) -> str:
    """SHA-256 of texts and bytes, each with its length, so that no two lists read the same.

    >>> digest("ab", "c") == digest("a", "bc")
    False
    """
    state = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode()
        state.update(len(data).to_bytes(8, "little"))
        state.update(data)
    return state.hexdigest()


def model_digest(model: torch.nn.Module, exported: ExportedProgram) -> str:
    """Of what a model computes and with which weights; its source text may change meanwhile."""
    modules = [(name, type(one).__qualname__, one.training) for name, one in model.named_modules()]
    code = [
        str(one.code)
        for _, one in exported.graph_module.named_modules()
        if isinstance(one, torch.fx.GraphModule)
    ]
    values = [
        f"{node.name} {val.dtype} {tuple(val.shape)}"
        for node in exported.graph.nodes
        if isinstance(val := node.meta.get("val"), torch.Tensor)
    ]
    tensors = {**exported.state_dict, **exported.constants}
    return digest(
        modules,
        *code,
        *values,
        sorted(map(str, exported.range_constraints.items())),
        exported.graph_signature,
        *(part for name in sorted(tensors) for part in (name, value_digest(tensors[name]))),
    )


def value_digest(value: Any) -> str:
    """Of tensors and plain values in any nesting."""
    leaves, nesting = _pytree.tree_flatten(value)
    return digest(nesting, *(part for leaf in leaves for part in _leaf(leaf)))


def _leaf(value: Any) -> Iterable[Any]:
    if type(value) not in _PLAIN:
        return (
            value
            if isinstance(value, bytes)
            else packed(f"a value of {type(value).__name__}", value),
        )
    flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    return (value.dtype, tuple(value.shape), tuple(value.stride()), flat.numpy().tobytes())


def choice_digest(choice: Any) -> str:
    """Of a partitioner or quantizer: its name with parameters, or the object's state."""
    if choice is None or choice == "none":
        return "none"
    if isinstance(choice, str):
        from etlab.choices import parse_choice

        name, parameters = parse_choice(choice)
        return f"{name}:{sorted(parameters.items())}"
    if isinstance(choice, list | tuple):
        return digest(*map(choice_digest, choice))
    kind = type(choice)
    return digest(kind.__qualname__, _source(kind), packed(kind.__name__, choice))


def objective_digest(objective: Objective) -> str:
    """Of what it measures: its function with parameters, source text and what that refers to."""
    function = getattr(objective.measure, "func", objective.measure)
    given = [getattr(objective.measure, name, None) for name in ("args", "keywords")]
    machine = (platform.node(), platform.machine()) if objective.is_timed else ()
    return digest(
        objective.name,
        objective.higher_is_better,
        packed(objective.name, given),
        _source(function),
        _surroundings(function),
        machine,
    )


@functools.cache
def code_digest() -> str:
    """Of this installation: torch's version, etlab's sources and its native library."""
    import etlab
    import etlab.backends
    import etlab.runtime
    from etlab.runtime import _native

    folders = {
        Path(path) for one in (etlab, etlab.runtime, etlab.backends) for path in one.__path__
    }
    files = {path.resolve() for folder in folders for path in folder.rglob("*.py")}
    texts = sorted(hashlib.sha256(path.read_bytes()).hexdigest() for path in files)
    library = hashlib.sha256(Path(_native.__file__).read_bytes()).hexdigest()
    return digest(torch.__version__, library, *texts)


def _source(code: Any) -> str:
    """The text of the file that a class or function was written in; of itself in a notebook."""
    places: tuple[Any, Any] = (inspect.getmodule(code), code)
    for one in places:
        try:
            return inspect.getsource(one)
        except (OSError, TypeError):  # in no file
            continue
    return digest(packed(str(code), code))


def _surroundings(function: Any) -> str:
    """Of the values around a function that it refers to, but for code and modules."""
    try:
        names = inspect.getclosurevars(function)
    except TypeError:  # not written in Python
        return ""
    found = {
        name: value
        for name, value in {**names.globals, **names.nonlocals}.items()
        if not callable(value) and not inspect.ismodule(value)
    }
    return digest(*(part for name in sorted(found) for part in (name, value_digest(found[name]))))


def packed(what: str, value: Any, way_out: str = _TELL_APART) -> bytes:
    """`value` pickled; classes and functions of a notebook or script go along by value.

    Raises:
        InvalidArgumentError: it cannot be pickled; the message says what to do.
    """
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(value)
    except Exception as error:
        raise InvalidArgumentError(
            f"sweep: {what} cannot be pickled ({type(error).__name__}: {error}): {way_out}"
        ) from error
    return data
