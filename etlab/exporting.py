"""`etlab.export`: from a module to an `ExportRun` in one call."""

import difflib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch.export import ExportedProgram

from etlab.arguments import as_arguments, as_names, check_model
from etlab.calibration import Calibration
from etlab.choices import as_partitioners, as_quantizer, with_float
from etlab.errors import EtlabError, ExportError, InvalidArgumentError, LoweringError, NotFoundError
from etlab.exir import stages
from etlab.exir.recurrent import recurrent_layers_whole
from etlab.quantize import Quantizer, QuantizeRequest
from etlab.refusals import explain
from etlab.run import ExportRun

_DROPOUT = (
    "the program holds dropout in training mode, and a native run will refuse it: the runtime draws"
    " no random numbers for it; call model.eval() before the export"
)


def export(
    model: torch.nn.Module,
    example_inputs: Any,
    *,
    partitioner: Any = None,
    quantizer: Any = None,
    calibration: Any = None,
    dynamic_shapes: Any = None,
    transform_passes: Sequence[Any] = (),
    backend_config: Any = None,
    name: str | None = None,
    strict: bool = False,
) -> ExportRun:
    """Export, quantize, lower and emit a model, and keep every stage.

    The model is not changed. What the user should know stands in the run's notes; dropout in
    training mode, which no native run accepts, is warned of besides.

    Args:
        model: a module in eval mode.
        example_inputs: positional arguments of one call, as a tuple; a tensor is one argument.
        partitioner: a partitioner, its name, or a list of either; None gives nothing away.
        quantizer: a quantizer or its name; None keeps the model's precision.
        calibration: samples for the quantizer and the parity report: a tensor, a tuple of
            arguments, or an iterable of these, such as a `DataLoader` (see `etlab.calibration`);
            the example inputs by default. A quantizer that measures ranges warns of the example
            alone, a single sample, noise, and constants.
        dynamic_shapes: as `torch.export.export` takes them.
        transform_passes: passes over the edge program before partitioning.
        backend_config: an `ExecutorchBackendConfig` for the emission.
        name: what reports call the model; its class name by default.
        strict: capture with `torch.export`'s strict tracer.

    Raises:
        InvalidArgumentError: `model` is no module, there are no inputs, or the model does not take
            a calibration sample.
        ExportError: `torch.export` refuses the model; the cause is chained.
        LoweringError: the compiler or the quantizer refuses the exported program.
        NotFoundError: no partitioner or quantizer has the given name.
        InterruptedExecutionError: a stage listener asked for a stop.
    """
    check_model(model, "export")
    inputs = as_arguments(example_inputs, "export")
    partitioners = as_partitioners(partitioner)
    chosen = as_quantizer(quantizer)
    outer = stages.current() or stages.StageListener()
    listener = stages.StageListener(outer.on_start, outer.should_stop, outer.on_part)
    with stages.listen(listener):
        exported = export_module(model, inputs, dynamic_shapes, strict=strict)
        data = Calibration(calibration, exported, inputs)
        quantized = None
        if chosen is not None:
            request = QuantizeRequest(model, exported, inputs, data, dynamic_shapes)
            quantized = _quantize(chosen, request)
        samples = data.samples()
        delegated, program = _lower(
            quantized or exported, partitioners, transform_passes, backend_config
        )
    notes = tuple(_notes(model, program))
    if quantized is not None and _operators(quantized) == _operators(exported):
        notes += (f"quantizer '{_label(quantizer)}' found nothing to quantize",)
    if chosen is not None and chosen.needs_data:
        notes += data.warn(stacklevel=2)
    if _draws_dropout(program):
        warnings.warn(_DROPOUT, stacklevel=2)
        notes += (_DROPOUT,)
    return ExportRun(
        name=name or type(model).__name__,
        model=model,
        exported=exported,
        quantized=quantized,
        delegated=delegated,
        program=program,
        example_inputs=inputs,
        calibration=samples,
        partitioner=_label(partitioner),
        quantizer=_label(quantizer),
        seconds=MappingProxyType(dict(listener.seconds)),
        notes=notes,
        transform_passes=tuple(transform_passes),
        options=MappingProxyType(
            {
                "partitioner": partitioner,
                "quantizer": quantizer,
                # A generator has run out by now; what was kept of it has not.
                "calibration": list(samples) if isinstance(calibration, Iterator) else calibration,
                "dynamic_shapes": dynamic_shapes,
                "transform_passes": tuple(transform_passes),
                "backend_config": backend_config,
                "name": name,
            }
        ),
    )


def export_again(
    run: ExportRun, keep_float: Sequence[str], changes: Mapping[str, Any]
) -> ExportRun:
    """The export of a run once more; arguments as `ExportRun.again`."""
    options = {**run.options, **changes}
    if keep_float:
        options["quantizer"] = with_float(options.get("quantizer"), keep_float)
    return export(run.model, run.example_inputs, **options)


def export_module(
    model: torch.nn.Module, inputs: tuple[Any, ...], dynamic_shapes: Any, *, strict: bool = False
) -> ExportedProgram:
    """`torch.export`, with a refusal explained.

    Raises:
        ExportError: `torch.export` refuses the model; the cause is chained.
    """
    with stages.stage("export"):

        def export_whole() -> ExportedProgram:
            with recurrent_layers_whole():
                return torch.export.export(
                    model, inputs, dynamic_shapes=dynamic_shapes, strict=strict
                )

        try:
            return export_whole()
        except EtlabError:
            raise
        except Exception as error:
            raise ExportError(explain(type(model).__name__, error, export_whole)) from error


def _quantize(quantizer: Quantizer, request: QuantizeRequest) -> ExportedProgram:
    _check_kept(getattr(quantizer, "keep_float", ()), request.model)
    with stages.stage("quantize"):
        try:
            return quantizer.quantize(request)
        except EtlabError:
            raise
        except Exception as error:
            raise LoweringError(
                f"quantizer '{quantizer.name}' failed on this model: "
                f"{type(error).__name__}: {error}"
            ) from error


def _check_kept(names: Any, model: torch.nn.Module) -> None:
    """Refuse to keep what the model does not have: it would be quantized without a word.

    Raises:
        NotFoundError: there is no such module; operators are named as `aten.add`.
        InvalidArgumentError: a text, which would be read letter by letter.
    """
    if isinstance(names, str):
        raise InvalidArgumentError(f"keep_float: expected a list of names, got {names!r}")
    known = {name for name, _ in model.named_modules()}
    unknown = [name for name in as_names(names, "keep_float") if name not in known] if names else []
    if unknown := [name for name in unknown if not name.startswith("aten.")]:
        close = [near for name in unknown for near in difflib.get_close_matches(name, known, 3)]
        some = ", ".join(close or sorted(known - {""})[:5]) or "none"
        raise NotFoundError(
            f"keep_float: the model has no module {', '.join(unknown)}; it has {some}"
        )


def _lower(
    exported: ExportedProgram,
    partitioners: list[Any],
    transform_passes: Sequence[Any],
    backend_config: Any,
) -> tuple[Any, Any]:
    from etlab.exir import to_edge_transform_and_lower

    delegated = to_edge_transform_and_lower(
        exported,
        transform_passes=list(transform_passes) or None,
        partitioner=partitioners or None,
    )
    return delegated, delegated.to_executorch(backend_config)


def _label(choice: Any) -> str:
    """A partitioner or quantizer as the user named it."""
    if choice is None or choice == []:
        return "none"
    if isinstance(choice, list | tuple):
        return " + ".join(_label(one) for one in choice)
    if isinstance(choice, str):
        return choice
    return str(getattr(choice, "name", type(choice).__name__))


def _draws_dropout(program: Any) -> bool:
    plans = program.executorch_program.execution_plan or ()
    return any(
        operator.name == "aten::native_dropout"
        for plan in plans
        for operator in plan.operators or ()
    )


def _operators(program: ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


def _notes(model: torch.nn.Module, program: Any) -> list[str]:
    """What the user should know: of the model, and of operators that have no kernel here."""
    from etlab.exir.ops import is_custom_namespace

    notes = []
    if model.training:
        notes.append(
            "the model was exported in training mode: dropout and batch norm act as in training; "
            "call model.eval() first if you mean to ship it"
        )
    plans = program.executorch_program.execution_plan or ()
    called = {
        f"{operator.name}.{operator.overload}" if operator.overload else str(operator.name)
        for plan in plans
        for operator in plan.operators or ()
        if is_custom_namespace(str(operator.name).split("::")[0])
    }
    if called:
        from etlab.runtime import Runtime

        missing = sorted(called - Runtime.get().operator_registry.operator_names)
        notes += [
            f"this process has no kernel for {name} yet: etlab.runtime.register_kernel({name!r},"
            " function) before a native run"
            for name in missing
        ]
    return notes
