"""From a subgraph's operators to steps: what the files in `operators` are written with."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack import moves
from etlab.backends.xnnpack.operators.registry import all_rules
from etlab.backends.xnnpack.payload.schema import Datatype
from etlab.backends.xnnpack.quantized import DEQUANTIZE, per_tensor, plan_quantized
from etlab.backends.xnnpack.steps import (
    DATATYPES,
    Dynamic,
    Fields,
    Layout,
    Order,
    PerTensor,
    Step,
    Steps,
    Tensor,
)
from etlab.errors import LoweringError
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import constant_placeholders, constant_tag, is_getitem
from etlab.exir.specs import order_of_strides

# Nodes whose results can be limited to a range on the way.
_LIMITED = {
    "Add",
    "AvgPooling2d",
    "Clamp",
    "Conv2d",
    "ConvTranspose2d",
    "DepthwiseConv2d",
    "Div",
    "FullyConnected",
    "GlobalAvgPooling2d",
    "MaxPooling2d",
    "Multiply",
    "Subtract",
}


def translate(edge: EdgeGraph) -> Steps:
    """The steps of a subgraph.

    Raises:
        LoweringError: an operator is in it that no rule knows; the partitioner gives no such.
    """
    translation = Translation(edge)
    rules = all_rules()
    for node in edge.graph.nodes:
        if node.op != "call_function":
            continue
        if is_getitem(node):
            source: Any = node.args[0]
            results = translation.results[source]
            picked = results[node.args[1]] if isinstance(results, tuple) else results
            translation.add_result(node, picked)
            continue
        rule = rules.get(str(node.target))
        if rule is None:
            raise LoweringError(f"XNNPACK: no rule translates {node.target} ('{node.name}')")
        translation.current = node
        translation.add_result(node, rule.translate(translation, node))
    return translation.finish()


def symbols(sizes: Sequence[Any]) -> int:
    """How many of some sizes vary."""
    return sum(not isinstance(size, int) for size in sizes)


def _is_single(tensor: Tensor) -> bool:
    return all(isinstance(size, int) and size == 1 for size in tensor.sizes)


class Translation:
    """A subgraph while it is translated.

    Attributes:
        constants: the tensor of every constant placeholder.
        plan: what runs quantized.
        results: what each node became; a tuple for several results, None for what is only read by
            others.
        current: the operator that is being translated.
    """

    def __init__(self, edge: EdgeGraph) -> None:
        self._edge = edge
        self.constants = constant_placeholders(edge)
        self.plan = plan_quantized(edge.graph, self.constants)
        self._names: dict[Tensor, list[fx.Node]] = {}
        self._floats: dict[Tensor, Tensor] = {}
        self._rows: dict[tuple[fx.Node, int], Tensor] = {}
        self.results: dict[fx.Node, Any] = {}
        self.current: fx.Node | None = None
        self._steps: list[Step] = []
        self._makers: dict[Tensor, Step] = {}
        self._inputs: list[Tensor] = []
        taken = [n for n in edge.graph.nodes if n.op == "placeholder" and n not in self.constants]
        self._arguments = len(taken)
        for place, node in enumerate(taken):
            if isinstance(node.meta["val"], torch.Tensor):  # the others are sizes: not needed
                self.results[node] = self._input(node, place)
                self._inputs.append(self.results[node])

    def _input(self, node: fx.Node, place: int) -> Tensor:
        val = node.meta["val"]
        scales = [scale for user in node.users if (scale := per_tensor(user)) is not None]
        return Tensor(
            sizes=tuple(val.shape),
            datatype=DATATYPES[val.dtype],
            quantization=scales[0] if val.dtype is torch.int8 else None,
            external=place,
            fixed=order_of_strides(val.shape, val.stride()),
        )

    def add_result(self, node: fx.Node, result: Any) -> None:
        """Note what a node became."""
        self.results[node] = result
        if isinstance(result, Tensor):
            self._names.setdefault(result, []).append(node)

    def tensor(self, node: Any) -> Tensor:
        """What a node became, in the form that the current operator computes with.

        Args:
            node: a node of the subgraph, or a number.
        """
        tensor = self.raw(node)
        if not tensor.is_quantized or self.current in self.plan.static:
            return tensor
        if str(node.target) != DEQUANTIZE:
            return tensor
        if tensor not in self._floats:
            floats = Tensor(tensor.sizes, DATATYPES[node.meta["val"].dtype])
            self._floats[tensor] = self.unary("Convert", tensor, floats)
            self._names[floats] = [node]
        return self._floats[tensor]

    def raw(self, node: Any) -> Tensor:
        """What a node became, quantized or not; constants become constant tensors."""
        if not isinstance(node, fx.Node):
            assert self.current is not None
            return self.constant(torch.tensor([float(node)], dtype=self._dtype()))
        if self.results.get(node) is None:
            self.results[node] = self._constant_of(node)
        result = self.results[node]
        assert isinstance(result, Tensor)
        return result

    def _dtype(self) -> torch.dtype:
        assert self.current is not None
        val = self.current.meta["val"]
        dtype: torch.dtype = (val[0] if isinstance(val, tuple | list) else val).dtype
        return dtype

    def _constant_of(self, node: fx.Node) -> Tensor:
        """A constant placeholder, or a constant behind a dequantize."""
        weight = self.plan.weights.get(node)
        if weight is not None and isinstance(weight.quantization, PerTensor):
            return Tensor(
                tuple(weight.elements.shape), Datatype.QINT8, weight.quantization, weight.elements
            )
        return self.constant(self.value(node))

    def value(self, node: Any) -> torch.Tensor:
        """The elements of a constant as floats."""
        weight = self.plan.weights.get(node)
        if weight is None:
            return self.constants[node]
        return weight.dequantized().to(node.meta["val"].dtype)

    def quantized(self, tensor: Tensor, quantization: PerTensor) -> Tensor:
        """A new tensor of the same sizes in 8-bit integers."""
        return Tensor(tensor.sizes, Datatype.QINT8, quantization)

    def rows(self, node: fx.Node, nonbatch: int) -> Tensor:
        """The floating-point result of `node`, quantized at run time.

        Args:
            node: what made it.
            nonbatch: how many trailing dimensions share a scale.
        """
        if (node, nonbatch) not in self._rows:
            source = self.tensor(node)
            output = Tensor(source.sizes, Datatype.QDINT8, Dynamic(nonbatch))
            layout = Layout.PLAIN if nonbatch == 1 else Layout.CHANNELS_LAST
            self._rows[node, nonbatch] = self.unary("Convert", source, output, layout=layout)
        return self._rows[node, nonbatch]

    def constant(self, value: torch.Tensor) -> Tensor:
        """A constant tensor."""
        value = value.detach()
        return Tensor(tuple(value.shape), DATATYPES[value.dtype], constant=value)

    def like(self, tensor: Tensor, sizes: Sequence[Any]) -> Tensor:
        """A tensor of other sizes."""
        return Tensor(tuple(sizes), tensor.datatype, tensor.quantization)

    def result(self, node: fx.Node) -> Tensor:
        """A new tensor for a node's result, quantized where the plan says so."""
        val = node.meta["val"]
        if node in self.plan.static:
            return Tensor(tuple(val.shape), Datatype.QINT8, per_tensor(self.plan.static[node]))
        return Tensor(tuple(val.shape), DATATYPES[val.dtype])

    def emit(
        self,
        kind: str,
        inputs: Mapping[str, Tensor | None],
        output: Tensor | Mapping[str, Tensor],
        *,
        layout: Layout,
        fields: Fields | Callable[[Order], Fields] | None = None,
        limits: tuple[float, float] | None = None,
        fixed_inputs: Sequence[str] = (),
        by_elements: bool = False,
        permutation: Order | None = None,
    ) -> Tensor:
        """Add a step; returns its (first) output."""
        outputs = {"output_id": output} if isinstance(output, Tensor) else dict(output)
        tag = self._constant_tag()
        for tensor in inputs.values():
            if tensor is not None and tensor.constant is not None:
                tensor.external_tag = tensor.external_tag or tag
        step = Step(
            kind,
            dict(inputs),
            outputs,
            fields or {},
            layout,
            limits,
            self.current.meta.get("debug_handle", 0) if self.current else 0,
            frozenset(fixed_inputs),
            by_elements,
            permutation,
        )
        self._steps.append(step)
        for tensor in outputs.values():
            self._makers[tensor] = step
        return next(iter(outputs.values()))

    def _constant_tag(self) -> str | None:
        """Where the constants of the current operator are stored: all of them where one is."""
        sources = self.current.all_input_nodes if self.current is not None else []
        constant = (s for s in sources if s in self.constants or s in self.plan.weights)
        return next((tag for tag in map(constant_tag, constant) if tag is not None), None)

    def unary(self, kind: str, source: Tensor, output: Tensor, **options: Any) -> Tensor:
        """A step of one input that works on elements."""
        options.setdefault("layout", Layout.ANY)
        return self.emit(kind, {"input_id": source}, output, **options)

    def binary(self, kind: str, first: Tensor, second: Tensor, output: Tensor) -> Tensor:
        """A step on the elements of two tensors, which are broadcast."""
        rank = output.rank
        operands = [self._raise_rank(tensor, rank) for tensor in (first, second)]
        layout = Layout.ANY
        if any(tensor.rank != rank and not _is_single(tensor) for tensor in operands):
            layout = Layout.PLAIN
        inputs = {"input1_id": operands[0], "input2_id": operands[1]}
        return self.emit(kind, inputs, output, layout=layout)

    def _raise_rank(self, tensor: Tensor, rank: int) -> Tensor:
        """The tensor with leading dimensions of size 1, so that orders mean the same.

        Single elements are the same in every order; a tensor with two sizes that vary cannot be
        reshaped. Both stay.
        """
        if rank == 0 and tensor.constant is not None:
            return self.constant(tensor.constant.reshape(()))
        if tensor.rank == rank or rank < 3 or _is_single(tensor):
            return tensor
        sizes = (*(1 for _ in range(rank - tensor.rank)), *tensor.sizes)
        if tensor.constant is not None:
            return self.constant(tensor.constant.reshape(sizes))
        return moves.reshape(self, tensor, sizes) if symbols(sizes) < 2 else tensor

    def try_limit(self, node: fx.Node, lowest: float, highest: float) -> Tensor | None:
        """Limit the results of the step that made `node`, if that step can and nobody else looks.

        Returns:
            The limited tensor; None when a step of its own is needed.
        """
        tensor: Tensor | None = self.results.get(node)
        maker = None if tensor is None else self._makers.get(tensor)
        if tensor is None or maker is None or maker.kind not in _LIMITED:
            return None
        # Conversions that were taken along are other names of the tensor: none may be seen.
        if any(len(name.users) != 1 for name in self._names[tensor]):
            return None
        low, high = maker.limits or (float("-inf"), float("inf"))
        low, high = min(max(low, lowest), highest), min(max(high, lowest), highest)
        if low >= high:
            return None
        maker.limits = (low, high)
        self._names[tensor].clear()  # what they were is not computed any more
        return tensor

    def finish(self) -> Steps:
        """All steps, and what the subgraph takes and gives."""
        outputs: list[tuple[Tensor, Order]] = []
        given: set[Tensor] = set(self._inputs)
        results: Any = self._edge.graph.output_node().args[0]
        for node in results:
            self.current = node
            tensor = self.tensor(node)
            if tensor in given or tensor.constant is not None:
                tensor = self.unary("Copy", tensor, self.like(tensor, tensor.sizes))
            given.add(tensor)
            val = node.meta["val"]
            outputs.append((tensor, order_of_strides(val.shape, val.stride())))
        names = {tensor: [node.name for node in nodes] for tensor, nodes in self._names.items()}
        steps = Steps(self._steps, self._inputs, outputs, self._arguments, names)
        steps.remove_dead()
        return steps
