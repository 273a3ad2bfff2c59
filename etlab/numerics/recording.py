"""The values of every operator while PyTorch runs a model: of exported programs, and of modules."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree

Values = dict[str, Any]


class Recorder:
    """Runs an exported program and keeps what its nodes compute.

    State starts afresh in every run.
    """

    def __init__(self, exported: ExportedProgram) -> None:
        """Take the program; nothing runs yet."""
        self._exported = exported
        self._module = exported.graph_module
        self._writes_in_place = any(
            node.op == "call_function" and _writes(node.target) for node in exported.graph.nodes
        )
        self._constants = {
            spec.arg.name: self._tensor(str(spec.target))
            for spec in exported.graph_signature.input_specs
            if spec.kind is not InputKind.USER_INPUT and isinstance(spec.target, str)
        }

    def run(self, sample: tuple[Any, ...], forced: Mapping[str, Any] | None = None) -> "Recording":
        """Run on one sample.

        Args:
            sample: positional arguments.
            forced: what the users of a node see instead of what it computed. A quantization that is
                forced together with its input still sees what was computed there.
        """
        leaves = iter(_pytree.tree_leaves(sample))
        inputs = []
        for spec in self._exported.graph_signature.input_specs:
            is_user = spec.kind is InputKind.USER_INPUT
            value = next(leaves) if is_user else self._constants.get(spec.arg.name)
            if self._writes_in_place and isinstance(value, torch.Tensor):
                value = value.clone()
            inputs.append(value)
        interpreter = _Interpreter(self._module, forced or {}, keep_copies=self._writes_in_place)
        with torch.no_grad():
            interpreter.run(*inputs)
        return Recording(interpreter.computed, interpreter.seen)

    def _tensor(self, name: str) -> Any:
        if name in self._exported.state_dict:
            return self._exported.state_dict[name].detach()
        return self._exported.constants.get(name)


class Recording:
    """One run.

    Attributes:
        computed: what every node computed, by name.
        seen: what its users saw, which differs where values were forced.
    """

    def __init__(self, computed: Values, seen: Values) -> None:
        """Keep both."""
        self.computed = computed
        self.seen = seen


class _Interpreter(fx.Interpreter):
    def __init__(
        self, module: fx.GraphModule, forced: Mapping[str, Any], *, keep_copies: bool
    ) -> None:
        super().__init__(module, garbage_collect_values=False)
        self._forced = forced
        self._keep_copies = keep_copies
        self.computed: Values = {}
        self.seen: Values = {}

    def run_node(self, n: fx.Node) -> Any:
        source = n.args[0] if n.args and isinstance(n.args[0], fx.Node) else None
        is_link = source is not None and n.name in self._forced and source.name in self._forced
        if is_link:
            assert source is not None
            outer, self.env[source] = self.env[source], self.computed[source.name]
            result = super().run_node(n)
            self.env[source] = outer
        else:
            result = super().run_node(n)
        kept = result.clone() if self._keep_copies and _is_tensor(result) else result
        self.computed[n.name] = kept
        self.seen[n.name] = self._forced.get(n.name, kept)
        return self._forced.get(n.name, result)


def module_outputs(exported: ExportedProgram) -> dict[str, list[str]]:
    """Nodes that are all that a call of a module returns: path of the module to its calls in order.

    >>> module_outputs(torch.export.export(torch.nn.Sequential(torch.nn.ReLU()), (torch.ones(2),)))
    {'': ['relu'], '0': ['relu']}
    """
    members: dict[tuple[str, str], set[fx.Node]] = {}
    for node in exported.graph.nodes:
        if node.op != "call_function":
            continue
        for key, (path, _) in (node.meta.get("nn_module_stack") or {}).items():
            members.setdefault((_plain(path), f"{key}:{path}"), set()).add(node)
    found: dict[str, list[str]] = {}
    for (path, _), nodes in members.items():
        results = [node for node in nodes if any(user not in nodes for user in node.users)]
        name = results[0].name if len(results) == 1 else ""
        found.setdefault(path, []).append(name)
    return found


def record_modules(
    model: torch.nn.Module, sample: tuple[Any, ...], outputs: Mapping[str, list[str]]
) -> Values:
    """What the modules of a model return, by the exported program's node.

    Args:
        model: in eager; its buffers are as before afterwards.
        sample: positional arguments.
        outputs: from `module_outputs`.
    """
    values: Values = {}
    calls: dict[str, int] = {}
    with torch.no_grad(), _buffers_kept(model), contextlib.ExitStack() as hooks:
        for path, module in model.named_modules(remove_duplicate=False):
            if path not in outputs:
                continue

            def keep(_: Any, __: Any, result: Any, path: str = path) -> None:
                place = calls.get(path, 0)
                calls[path] = place + 1
                if place < len(outputs[path]) and _is_tensor(result) and outputs[path][place]:
                    values[outputs[path][place]] = result.detach().clone()

            hooks.callback(module.register_forward_hook(keep).remove)
        model(*_pytree.tree_map(lambda x: x.clone() if _is_tensor(x) else x, sample))
    return values


@contextlib.contextmanager
def _buffers_kept(model: torch.nn.Module) -> Iterator[None]:
    kept = [(buffer, buffer.detach().clone()) for buffer in model.buffers()]
    try:
        yield
    finally:
        for buffer, value in kept:
            buffer.copy_(value)


def _plain(path: str) -> str:
    return path.removeprefix("L['self'].").removeprefix("L['self']").split("@")[0]


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _writes(target: Any) -> bool:
    schema = getattr(target, "_schema", None)
    return schema is not None and bool(schema.is_mutable)
