"""From schedules and memory plans to a program and its segments."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from etlab.errors import InvalidArgumentError, LoweringError
from etlab.exir.emit import schema
from etlab.exir.emit.constants import DataTable
from etlab.exir.emit.enums import DataLocation
from etlab.exir.emit.external import ExternalData
from etlab.exir.emit.file import Segment
from etlab.exir.emit.method import constant_plan, emit_method
from etlab.exir.memory.planning import PlannedMemory
from etlab.exir.partition.host_only import HOST_TAG
from etlab.exir.schedule import Schedule


@dataclass(frozen=True, slots=True)
class EmitOptions:
    """What of a program's form can be chosen.

    Attributes:
        emit_stacktrace: store where in the model each instruction came from.
        emit_mutable_buffer_names: store the names of state tensors.
        extract_delegate_segments: store delegates behind the FlatBuffer, not inside.
        constant_alignment: of each constant, in bytes.
        delegate_alignment: of each delegate's bytes.
        external_alignment: of each constant outside of the program.
    """

    emit_stacktrace: bool = False
    emit_mutable_buffer_names: bool = False
    extract_delegate_segments: bool = True
    constant_alignment: int = 16
    delegate_alignment: int = 16
    external_alignment: int = 128


@dataclass(frozen=True, slots=True)
class Emission:
    """A program without its segment table, and the segments in order."""

    program: schema.Program
    segments: list[Segment]
    constants: DataTable
    state: DataTable
    external: ExternalData

    def check_unchanged(self) -> None:
        """Assert that no stored tensor was written since; see `DataTable`."""
        for table in (self.constants, self.state, self.external):
            table.check_unchanged()


def emit_program(
    methods: Mapping[str, tuple[Schedule, PlannedMemory]],
    constant_methods: Mapping[str, Any],
    options: EmitOptions,
    named_data: Mapping[str, bytes],
) -> Emission:
    """Emit methods in the order of their names, then constant methods in theirs.

    `named_data` is stored by name, beside what delegates store so.

    Raises:
        LoweringError: two delegates give different bytes under one name, or something has no form
            in a program.
        InvalidArgumentError: a constant method has the name of a method.
    """
    shared = _Shared(options, named_data)
    plans = [emit_method(*methods[name], shared) for name in sorted(methods)]
    for name, value in constant_methods.items():
        if name in methods:
            raise InvalidArgumentError(
                f"constant method '{name}' has the name of a method of the model; rename it"
            )
        plans.append(constant_plan(name, value, shared))
    return shared.finish(tuple(plans))


class _Shared:
    """Data of all methods: constants, state, delegates' bytes, named data."""

    def __init__(self, options: EmitOptions, named_data: Mapping[str, bytes]) -> None:
        self.emit_stacktrace = options.emit_stacktrace
        self.emit_mutable_buffer_names = options.emit_mutable_buffer_names
        self.constants = DataTable(options.constant_alignment)
        self.state = DataTable(options.constant_alignment)
        self.external = ExternalData(options.external_alignment)
        self._options = options
        self._delegates: dict[bytes, int] = {}
        self._named: dict[str, bytes] = dict(named_data)

    def delegate(self, module: Any) -> schema.BackendDelegate:
        """The entry of a lowered module; equal bytes are stored once."""
        place = self._delegates.setdefault(bytes(module.processed_bytes), len(self._delegates))
        for key, value in module.named_data.items():
            tag = module.external_tags.get(key)
            if tag == HOST_TAG and self.external.has_key(key):
                continue  # of an equal delegate, which may call its values otherwise
            if tag is not None and key not in self._named:
                self.external.add_bytes(tag, key, value)
            elif not self.external.has_bytes(key, value) and (
                self._named.setdefault(key, value) != value
            ):
                raise LoweringError(
                    f"different bytes are stored under the name '{key}'; a backend's names"
                    " must tell their content apart"
                )
        reference = schema.BackendDelegateDataReference(DataLocation.INLINE, place)
        if self._options.extract_delegate_segments:  # segment 0 holds the constants
            reference = schema.BackendDelegateDataReference(DataLocation.SEGMENT, place + 1)
        specs = [schema.CompileSpec(spec.key, bytes(spec.value)) for spec in module.compile_specs]
        return schema.BackendDelegate(module.backend_id, reference, tuple(specs))

    def finish(self, plans: tuple[schema.ExecutionPlan, ...]) -> Emission:
        """Lay out the segments: constants, delegates, state, named data."""
        segments = [Segment(self.constants.size, self.constants.pieces)]
        inline: tuple[schema.BackendDelegateInlineData, ...] = ()
        if self._options.extract_delegate_segments:
            alignment = self._options.delegate_alignment
            segments += [Segment(len(data), [(0, data)], alignment) for data in self._delegates]
        else:
            inline = tuple(schema.BackendDelegateInlineData(data) for data in self._delegates)
        mutable: tuple[schema.SubsegmentOffsets, ...] | None = None
        if len(self.state.offsets) > 1:
            mutable = (schema.SubsegmentOffsets(len(segments), tuple(self.state.offsets)),)
            segments.append(Segment(self.state.size, self.state.pieces))
        program = schema.Program(
            version=schema.SCHEMA_VERSION,
            execution_plan=plans,
            constant_buffer=(),
            backend_delegate_data=inline,
            constant_segment=schema.SubsegmentOffsets(0, tuple(self.constants.offsets)),
            mutable_data_segments=mutable,
            named_data=tuple(self._place_named(segments)),
        )
        return Emission(program, segments, self.constants, self.state, self.external)

    def _place_named(self, segments: list[Segment]) -> list[schema.NamedData]:
        """One segment per distinct content; several names, and a constant, may share it."""
        places: dict[bytes, int] = {}
        entries: list[schema.NamedData] = []
        for key, value in self._named.items():
            if value not in places:
                places[value] = len(segments)
                offset = self.constants.find(value)
                if offset is None:
                    segments.append(Segment(len(value), [(0, value)]))
                else:  # a kernel and a delegate share a weight
                    segments.append(Segment(len(value), [], within=(0, offset)))
            entries.append(schema.NamedData(key, places[value]))
        return entries
