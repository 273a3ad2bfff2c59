"""The tensors between a program's steps while a runtime runs it, and its steps one by one."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Self

import torch

from etlab.errors import EtlabError
from etlab.numerics.alignment import Alignment
from etlab.numerics.needs import Feed, needs_of
from etlab.numerics.paths import flatten_arguments
from etlab.numerics.places import Place
from etlab.numerics.regions import Region
from etlab.numerics.sites import Site
from etlab.runtime import Runtime

Values = dict[str, torch.Tensor]
# Runs a method of some program bytes on flat inputs.
Call = Callable[[str, Sequence[Any]], list[Any]]
Runner = Callable[[bytes], AbstractContextManager[Call]]


@dataclass(frozen=True, slots=True)
class LocalCall:
    """A step of the program that can be run alone.

    Attributes:
        site: what it computes.
        name: of its method.
        region: what that method runs.
        feeds: its inputs.
    """

    site: Site
    name: str
    region: Region
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
        self.changes_outputs: bool | None = None  # by handing out more; None before the first run

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
        if self.changes_outputs is None:
            with self._runner(self._alignment.parts.tapped([])) as plain:
                own = plain("forward", flatten_arguments(sample))
            pairs = zip(own, outputs, strict=False)
            self.changes_outputs = not all(is_same(left, right) for left, right in pairs)
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
            content = self._alignment.parts.excerpts({one.name: one.region for one in self._calls})
            self._excerpts = self._opened.enter_context(self._runner(content))
        found: Values = {}
        for one in self._calls:
            try:
                inputs = [feed.of(reference) for feed in one.feeds]
                result = self._excerpts(one.name, inputs)[0]
            except EtlabError as error:
                self.local_reasons[one.site.node] = str(error)
                continue
            found[one.site.node] = _logical(one.site, result)
        return found


def is_same(left: Any, right: Any) -> bool:
    """Whether two results are the same bits; NaN equals NaN."""
    if not isinstance(left, torch.Tensor) or not isinstance(right, torch.Tensor):
        return bool(left == right)
    return left.shape == right.shape and torch.equal(
        torch.nan_to_num(left, nan=0.25), torch.nan_to_num(right, nan=0.25)
    )


def local_calls(alignment: Alignment) -> tuple[list[LocalCall], dict[str, str]]:
    """The steps that can run alone, and why others cannot, by lowered node."""
    calls: list[LocalCall] = []
    reasons: dict[str, str] = {}
    for site in distinct_sites(alignment):
        try:
            region, feeds = needs_of(alignment, site.place)
        except EtlabError as error:
            reasons[site.node] = str(error)
            continue
        name = f"local_{len(calls)}"
        calls.append(LocalCall(site, name, region, tuple(feeds[one] for one in region.places)))
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
            elif data is not None:  # its file is gone
                runtime.load(content, method=name, tensor_data=data)
            else:
                runtime.load_method(name)
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
