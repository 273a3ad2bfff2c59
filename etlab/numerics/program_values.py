"""The tensors between a program's steps while a runtime runs it, and its steps one by one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import torch

from etlab.errors import EtlabError
from etlab.exir.partition.inside import Inside
from etlab.numerics.alignment import Alignment
from etlab.numerics.parts import Excerpt, Place
from etlab.numerics.paths import flatten_arguments
from etlab.numerics.sites import Site
from etlab.runtime import Runtime

Values = dict[str, torch.Tensor]
# Runs a method of some program bytes on flat inputs.
Call = Callable[[str, Sequence[Any]], list[Any]]
Runner = Callable[[bytes], AbstractContextManager[Call]]


@dataclass(frozen=True, slots=True)
class Feed:
    """One input of an excerpt.

    Attributes:
        node: the lowered node whose value it is.
        order: its dimensions as they lie in a delegate's memory; None for as they are.
        sizes: what it is reshaped to; None for as it is.
        dtype: what the program has there.
    """

    node: str
    order: tuple[int, ...] | None
    sizes: tuple[int, ...] | None
    dtype: torch.dtype | None

    def of(self, values: Mapping[str, Any]) -> Any:
        """The input among the reference's values.

        Raises:
            EtlabError: the reference has another kind of value there.
        """
        value = values.get(self.node)
        if not isinstance(value, torch.Tensor):
            raise EtlabError(f"the reference has no tensor '{self.node}'")
        if self.dtype is not None and value.dtype != self.dtype:
            raise EtlabError(f"the reference's '{self.node}' is {value.dtype}, not {self.dtype}")
        if self.sizes is not None:
            value = value.reshape(self.sizes)
        return value if self.order is None else value.permute(self.order).contiguous()


@dataclass(frozen=True, slots=True)
class LocalCall:
    """A step of the program that can be run alone.

    Attributes:
        site: what it computes.
        excerpt: its method.
        feeds: its inputs.
    """

    site: Site
    excerpt: Excerpt
    feeds: tuple[Feed, ...]


class ProgramValues:
    """What a runtime computes in a program: use it as a context manager.

    Args:
        alignment: of the program.
        runner: opens program bytes on the runtime.
    """

    def __init__(self, alignment: Alignment, runner: Runner) -> None:
        """Nothing is opened yet."""
        self._alignment = alignment
        self._runner = runner
        self._opened = ExitStack()
        self._tapped: Call | None = None
        self._calls: list[LocalCall] = []
        self._excerpts: Call | None = None
        self.local_reasons: dict[str, str] = {}

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close what was opened."""
        self._opened.close()

    def accumulated(self, sample: Any) -> Values:
        """What the program computes between its steps, by lowered node.

        The program runs with more outputs; every sample starts with fresh state.
        """
        sites = distinct_sites(self._alignment)
        if self._tapped is None:
            places = [
                Place(one.place.step, one.value) if one.value is not None else one.place
                for one in sites
            ]
            content = self._alignment.parts.tapped(places)
            self._tapped = self._opened.enter_context(self._runner(content))
        outputs = self._tapped("forward", flatten_arguments(sample))
        taps = outputs[len(outputs) - len(sites) :]
        return {
            site.node: tap if site.value is not None else _logical(site, tap)
            for site, tap in zip(sites, taps, strict=True)
        }

    def local(self, reference: Mapping[str, Any]) -> Values:
        """What every step computes from the reference's inputs, by lowered node.

        Why others have no value stands in `local_reasons`.

        Args:
            reference: values of all lowered nodes.
        """
        if self._excerpts is None:
            self._calls, self.local_reasons = local_calls(self._alignment)
            if not self._calls:
                return {}
            content = self._alignment.parts.excerpts([one.excerpt for one in self._calls])
            self._excerpts = self._opened.enter_context(self._runner(content))
        found: Values = {}
        for one in self._calls:
            try:
                inputs = [feed.of(reference) for feed in one.feeds]
                result = self._excerpts(one.excerpt.name, inputs)[0]
            except EtlabError as error:
                self.local_reasons[one.site.node] = str(error)
                continue
            found[one.site.node] = _logical(one.site, result)
        return found


def local_calls(alignment: Alignment) -> tuple[list[LocalCall], dict[str, str]]:
    """The steps that can run alone, and why others cannot, by lowered node."""
    calls: list[LocalCall] = []
    reasons: dict[str, str] = {}
    for site in distinct_sites(alignment):
        try:
            places, feeds = _inputs_of(alignment, site)
        except EtlabError as error:
            reasons[site.node] = str(error)
            continue
        excerpt = Excerpt(f"local_{len(calls)}", tuple(places), site.place)
        calls.append(LocalCall(site, excerpt, tuple(feeds)))
    return calls, reasons


@contextmanager
def native_runner(content: bytes, tensor_data: Sequence[bytes] = ()) -> Iterator[Call]:
    """Our runtime, in this process."""
    program = Runtime.get().load_program(content, data_path=list(tensor_data))
    methods: dict[str, Any] = {}

    def call(name: str, inputs: Sequence[Any]) -> list[Any]:
        if name not in methods:
            methods[name] = program.load_method(name)
        methods[name].reset_state()
        outputs: list[Any] = methods[name].execute(list(inputs))
        return outputs

    yield call


@contextmanager
def official_runner(content: bytes, tensor_data: Sequence[bytes] = ()) -> Iterator[Call]:
    """ExecuTorch's runtime, in one child process."""
    from etlab.numerics.official import OfficialRuntime

    data = next(iter(tensor_data), None)
    with ExitStack() as opened:
        runtime: OfficialRuntime | None = None

        def call(name: str, inputs: Sequence[Any]) -> list[Any]:
            nonlocal runtime
            if runtime is None:
                started = OfficialRuntime(content, method=name, tensor_data=data)
                runtime = opened.enter_context(started)
            else:
                runtime.load(content, method=name, tensor_data=data)
            return runtime.execute(inputs)

        yield call


def distinct_sites(alignment: Alignment) -> list[Site]:
    """The sites that operators are compared at, in order of the operators."""
    found = [alignment.site(operator) for operator in alignment.operators]
    return list({site.node: site for site in found if site is not None}.values())


def _logical(site: Site, value: torch.Tensor) -> torch.Tensor:
    """A tensor as the graph has it: one from inside of a delegate lies in the delegate's order."""
    if site.order is None:
        return value
    back = [site.order.index(dim) for dim in range(len(site.order))]
    return value.permute(back)


def _inputs_of(alignment: Alignment, site: Site) -> tuple[list[Place], list[Feed]]:
    """The nearest tensors before a step that the graph knows, too.

    Raises:
        EtlabError: there are none on some way.
    """
    if site.place.is_inside:
        return _inputs_inside(alignment, site.place)
    return _inputs_outside(alignment, site.place)


def _inputs_inside(alignment: Alignment, output: Place) -> tuple[list[Place], list[Feed]]:
    step = alignment.parts.steps[output.step]
    assert step.delegate is not None
    inside = alignment.parts.inside(step.delegate)
    assert inside is not None
    makers = {number: node for node in inside.nodes for number in node.outputs}
    found: dict[Place, Feed] = {}
    waiting, seen = [output.value], {output.value}
    while waiting:
        for number in makers[waiting.pop()].inputs:
            place = Place(output.step, number, is_inside=True)
            if number in seen:
                continue
            seen.add(number)
            key = alignment.numbers.get(place)
            if key is not None:
                order = alignment.orders[place]
                found[place] = Feed(key, order, None, inside.values[number].dtype)
            elif number in makers:
                waiting.append(number)
            else:
                found[place] = _input_of_delegate(alignment, place, inside)
    return list(found), list(found.values())


def _input_of_delegate(alignment: Alignment, place: Place, inside: Inside) -> Feed:
    """An input of a delegate, which is a value of the program.

    Raises:
        EtlabError: the graph does not know it.
    """
    parts = alignment.parts
    value = parts.arguments(place.step)[inside.inputs[place.value]]
    tensor = parts.tensor(value)
    owner = parts.owner_of(value, place.step)
    key = _key_of(alignment, owner, place.step)
    if tensor is None or key is None:
        raise EtlabError("an input of its delegate has no counterpart in the graph")
    sizes = tuple(tensor.sizes or ()) if owner != value else None
    order = tuple(tensor.dim_order or ())
    return Feed(key, order, sizes, inside.values[place.value].dtype)


def _key_of(alignment: Alignment, value: int, before: int) -> str | None:
    """The graph's node whose value a value of the program is at a step."""
    writer = alignment.parts.writer_of(value, before)
    if writer is not None:
        return alignment.numbers.get(Place(writer, value))
    inputs = dict(zip(alignment.parts.inputs, alignment.inputs, strict=False))
    return inputs.get(value)


def _inputs_outside(alignment: Alignment, output: Place) -> tuple[list[Place], list[Feed]]:
    parts = alignment.parts
    found: dict[Place, Feed] = {}
    waiting, seen = [(output.step, value) for value in parts.steps[output.step].reads], set()
    while waiting:
        before, value = waiting.pop()
        if value in seen or parts.is_constant(value):
            continue
        seen.add(value)
        tensor = parts.tensor(value)
        owner = value if tensor is None else parts.owner_of(value, before)
        writer = parts.writer_of(owner, before)
        key = _key_of(alignment, owner, before)
        if tensor is None:
            if writer is not None:
                waiting += [(writer, read) for read in parts.steps[writer].reads]
        elif key is not None:
            sizes = tuple(tensor.sizes or ()) if owner != value else None
            found[Place(output.step, value)] = Feed(key, None, sizes, parts.dtype(value))
        elif writer is not None and owner == value:
            waiting += [(writer, read) for read in parts.steps[writer].reads]
        else:
            raise EtlabError("it reads state, or a view of what has no counterpart in the graph")
    return list(found), list(found.values())
