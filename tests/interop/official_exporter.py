"""The child process that makes programs with the official exporter; started by file.

    python official_exporter.py models|operators|delegates FOLDER

It writes `FOLDER/<number>.pte` and, last, `FOLDER/index.json`: name to file name, or to the reason
why the official exporter refuses.
"""

import copy
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch.export import ExportedProgram

sys.path.insert(0, str(Path(__file__).parent.parent))


def exported_models() -> Iterator[tuple[str, Callable[[], ExportedProgram]]]:
    """The models of the interop tests, and those of what only the official compiler takes."""
    from interop.models import CONTROL_FLOW, MODELS, Model

    def export(model: Model) -> ExportedProgram:
        inputs = copy.deepcopy(model.calls[0])
        shapes = model.dynamic_shapes
        return torch.export.export(model.build(), inputs, dynamic_shapes=shapes, strict=False)

    for name, model in {**MODELS, **CONTROL_FLOW}.items():
        yield name, lambda model=model: export(model)  # type: ignore[misc]


def write_delegated(folder: Path) -> None:
    """One model in the hands of the official XNNPACK backend."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from exir.lowering import Mlp, seeded

    exported = torch.export.export(Mlp(), (seeded(2, 5),))
    edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    (folder / "0.pte").write_bytes(edge.to_executorch().buffer)
    (folder / "index.json").write_text(json.dumps({"mlp": {"file": "0.pte"}}))


def exported_operators() -> Iterator[tuple[str, Callable[[], ExportedProgram]]]:
    """Every sample of the corpus as a module of one call."""
    from interop.corpus import CASES, cases_by_dtype, functional_of, is_in_corpus, one_call_module

    for name in CASES:
        if is_in_corpus(name):
            for number, case in enumerate(cases_by_dtype(name)):
                operator = functional_of(name)
                assert operator is not None
                module, inputs = one_call_module(operator, case)
                yield (
                    f"{name} {number}",
                    lambda m=module, i=inputs: torch.export.export(m, tuple(i), strict=False),  # type: ignore[misc]
                )


def main() -> None:
    """Write all programs of a kind."""
    kind, folder = sys.argv[1], Path(sys.argv[2])
    torch.set_num_threads(1)
    if kind == "delegates":
        write_delegated(folder)
        return
    from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    index: dict[str, dict[str, str]] = {}
    sources = exported_models() if kind == "models" else exported_operators()
    for number, (name, export) in enumerate(sources):
        try:
            edge = to_edge(export(), compile_config=EdgeCompileConfig(_check_ir_validity=False))
            keep_state = InitializedMutableBufferPass(["count", "average", "a", "b", "keys"])
            program = edge.to_executorch(ExecutorchBackendConfig(passes=[keep_state]))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            index[name] = {"refused": reason}
            continue
        (folder / f"{number}.pte").write_bytes(program.buffer)
        index[name] = {"file": f"{number}.pte"}
    (folder / "index.json").write_text(json.dumps(index, indent=1))


if __name__ == "__main__":
    main()
