"""Steps with chosen layouts become the payload's values and nodes, and named constants."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from etlab.backends.xnnpack.payload import schema
from etlab.backends.xnnpack.payload.nodes import NODES
from etlab.backends.xnnpack.payload.schema import NO_OFFSET, NO_VALUE
from etlab.backends.xnnpack.steps import (
    Dynamic,
    Order,
    PerChannel,
    PerGroup,
    PerTensor,
    Step,
    Steps,
    Tensor,
    plain,
)
from etlab.errors import LoweringError
from etlab.exir.partition.backend import ValueOrigin

_LARGEST = 3.4028234663852886e38


@dataclass(frozen=True, slots=True)
class Serialized:
    """What becomes of a subgraph.

    Attributes:
        graph: the payload's content.
        named_data: constants by the names that the payload uses.
        origins: whose results values hold, by their ids.
        external_tags: the names that are stored outside of the program, and in which file.
    """

    graph: schema.Graph
    named_data: dict[str, bytes]
    origins: dict[int, tuple[ValueOrigin, ...]]
    external_tags: dict[str, str]


def serialize(steps: Steps, upper_bound: Callable[[Any], int]) -> Serialized:
    """Write steps down.

    Args:
        steps: with chosen layouts.
        upper_bound: the largest value of a symbolic size.
    """
    writer = _Writer(steps, upper_bound)
    for tensor in steps.inputs:
        writer.define_input(tensor)
    for step in steps.steps:
        writer.write(step)
    writer.finish_outputs()
    return writer.result()


@dataclass(slots=True)
class _Copies:
    """The values that hold one tensor, by order."""

    by_order: dict[Order, int] = field(default_factory=dict)


class _Writer:
    def __init__(self, steps: Steps, upper_bound: Callable[[Any], int]) -> None:
        self._steps = steps
        self._upper_bound = upper_bound
        self._values: list[schema.Value] = []
        self._nodes: list[schema.Node] = []
        self._constants: list[schema.ConstantDataOffset] = [schema.ConstantDataOffset()]
        self._constant_index: dict[str, int] = {}
        self._named: dict[str, bytes] = {}
        self._external_tags: dict[str, str] = {}
        self._copies: dict[Tensor, _Copies] = {}
        # Output tensors that are still to be made in the order of the delegate's output.
        first = steps.arguments
        self._wanted = {
            (tensor, order): first + place for place, (tensor, order) in enumerate(steps.outputs)
        }
        self._input_ids: list[int] = []
        self._output_ids: list[int] = []

    def define_input(self, tensor: Tensor) -> None:
        """The value of a delegate's input."""
        assert tensor.fixed is not None
        assert tensor.external is not None
        number = self._add(tensor, tensor.fixed, tensor.external, schema.EXTERNAL_INPUT)
        self._input_ids.append(number)

    def write(self, step: Step) -> None:
        """The nodes of a step."""
        if step.permutation is not None:
            self._write_permutation(step)
            return
        ids: dict[str, int] = {}
        for name, tensor in step.inputs.items():
            if tensor is None:
                ids[name] = NO_VALUE
            elif name in step.fixed_inputs:
                ids[name] = self._use(tensor, plain(tensor.rank), step)
            else:
                ids[name] = self._use(tensor, step.order(tensor.rank), step)
        for name, tensor in step.outputs.items():
            ids[name] = self._define(tensor, step.order(tensor.rank))
        rank = next(iter(step.outputs.values())).rank
        fields = step.fields(step.order(rank)) if callable(step.fields) else step.fields
        self._add_node(step.kind, {**fields, **ids}, step)

    def finish_outputs(self) -> None:
        """Copies for outputs that are wanted in another order than they were made in."""
        for tensor, order in list(self._wanted):
            self._use(tensor, order, None)

    def result(self) -> Serialized:
        """The payload."""
        externals = self._steps.arguments + len(self._steps.outputs)
        if externals > schema.MAXIMUM_EXTERNALS:
            raise LoweringError(
                f"an XNNPACK subgraph has {externals} inputs and outputs, more than the runtime's"
                f" {schema.MAXIMUM_EXTERNALS}"
            )
        graph = schema.Graph(
            version="0",
            xnodes=tuple(self._nodes),
            xvalues=tuple(self._values),
            num_externs=externals,
            input_ids=tuple(self._input_ids),
            output_ids=tuple(self._output_ids),
            constant_data=tuple(self._constants),
        )
        return Serialized(graph, self._named, self._origins(), self._external_tags)

    def _origins(self) -> dict[int, tuple[ValueOrigin, ...]]:
        found: dict[int, list[ValueOrigin]] = {}
        for tensor, names in self._steps.names.items():
            for place, (order, number) in enumerate(self._copies_of(tensor).by_order.items()):
                origins = (ValueOrigin(name, order, is_copy=place > 0) for name in names)
                found.setdefault(number, []).extend(origins)
        return {number: tuple(found[number]) for number in sorted(found)}

    def _write_permutation(self, step: Step) -> None:
        source, target = step.inputs["input_id"], step.outputs["output_id"]
        assert source is not None
        assert step.permutation is not None
        target_order = step.order(target.rank)
        wanted = tuple(step.permutation[dim] for dim in target_order)  # source dims, in memory
        copies = self._copies_of(source).by_order
        if source.constant is not None:
            self._use(source, plain(source.rank), step)
        if wanted in copies and (target, target_order) not in self._wanted:
            self._copies_of(target).by_order[target_order] = copies[wanted]
            return
        order, number = next(iter(copies.items()))
        output = self._define(target, target_order)
        self._transpose(number, output, tuple(order.index(dim) for dim in wanted), step)

    def _use(self, tensor: Tensor, order: Order, step: Step | None) -> int:
        """The value of a tensor in an order, made if need be."""
        copies = self._copies_of(tensor).by_order
        if order in copies and (tensor, order) not in self._wanted:
            return copies[order]
        if tensor.constant is not None:
            copies[order] = self._add(tensor, order)
            return copies[order]
        if step is not None and step.by_elements:
            for other, number in copies.items():
                if _same_elements(tensor, order, other):
                    return number
        assert copies, "steps stand in an order in which everything is made before it is used"
        source, number = next(iter(copies.items()))
        output = self._define(tensor, order)
        self._transpose(number, output, tuple(source.index(dim) for dim in order), step)
        return output

    def _define(self, tensor: Tensor, order: Order) -> int:
        """The value that a node is about to make."""
        external = self._wanted.pop((tensor, order), None)
        if external is None:
            number = self._add(tensor, order)
        else:
            number = self._add(tensor, order, external, schema.EXTERNAL_OUTPUT)
            self._output_ids.append(number)
        self._copies_of(tensor).by_order[order] = number
        return number

    def _transpose(self, source: int, target: int, permutation: Order, step: Step | None) -> None:
        if permutation == plain(len(permutation)):
            self._add_node("Copy", {"input_id": source, "output_id": target}, step)
            return
        fields = {"num_dims": len(permutation), "perm": permutation}
        fields |= {"input_id": source, "output_id": target}
        self._add_node("StaticTranspose", fields, step)

    def _add_node(self, kind: str, fields: dict[str, Any], step: Step | None) -> None:
        limits = None
        if step is not None and step.limits is not None and kind == step.kind:
            limits = schema.OutputMinMax(*(_float32(limit) for limit in step.limits))
        handle = 0 if step is None else step.handle
        self._nodes.append(schema.Node(NODES[kind](**fields), handle, limits))

    def _copies_of(self, tensor: Tensor) -> _Copies:
        copies = self._copies.get(tensor)
        if copies is None:
            copies = self._copies[tensor] = _Copies()
        return copies

    def _add(self, tensor: Tensor, order: Order, external: int = NO_VALUE, flags: int = 0) -> int:
        """A new value."""
        number = len(self._values)
        constant = 0
        if tensor.constant is not None:
            stored = tensor.constant
            constant = self._constant(stored.permute(order) if stored.dim() else stored, "", tensor)
        sizes = [tensor.sizes[dim] for dim in order]
        content = schema.TensorValue(
            datatype=tensor.datatype,
            num_dims=tensor.rank,
            dims=tuple(s if isinstance(s, int) else self._upper_bound(s) for s in sizes),
            constant_buffer_idx=constant,
            external_id=external,
            flags=flags,
            id_out=number,
        )
        value: schema.TensorValue | schema.QuantizedTensorValue = content
        if tensor.quantization is not None:
            value = schema.QuantizedTensorValue(content, self._quantization(tensor, order))
        self._values.append(schema.Value(value))
        self._copies_of(tensor).by_order.setdefault(order, number)
        return number

    def _quantization(self, tensor: Tensor, order: Order) -> schema.QuantParams:
        match tensor.quantization:
            case PerTensor(scale, zero_point):
                return schema.PerTensorQuant(scale, zero_point)
            case Dynamic(nonbatch):
                return schema.PerTokenDynamicQuant(nonbatch)
            case PerChannel(scales, axis):
                index = self._constant(scales, "scale_", tensor)
                return schema.PerChannelQuant((), order.index(axis), index, scales.numel())
            case PerGroup(scales, group_size):
                index = self._constant(scales, "scale_", tensor)
                return schema.PerChannelGroupQuant((), 0, group_size, None, index, scales.numel())
        raise AssertionError("a tensor that is not quantized")

    def _constant(self, values: torch.Tensor, prefix: str, owner: Tensor) -> int:
        """The entry of a constant, named for its bytes and stored where its owner is."""
        flat = values.detach().contiguous().reshape(-1).view(torch.uint8)
        data = flat.numpy().tobytes()
        key = prefix + hashlib.sha256(data).hexdigest()
        index = self._constant_index.get(key)
        if index is None:
            index = self._constant_index[key] = len(self._constants)
            self._constants.append(schema.ConstantDataOffset(NO_OFFSET, len(data), key))
            self._named[key] = data
            if owner.external_tag is not None:
                self._external_tags[key] = owner.external_tag
        return index


def _float32(value: float) -> float:
    """A limit as the payload can hold it."""
    if value > _LARGEST:
        return float("inf")
    return float("-inf") if value < -_LARGEST else value


def _same_elements(tensor: Tensor, first: Order, second: Order) -> bool:
    """Whether the elements lie alike in two orders: they differ in sizes of 1 only."""
    single = {dim for dim, size in enumerate(tensor.sizes) if isinstance(size, int) and size == 1}
    return [d for d in first if d not in single] == [d for d in second if d not in single]
