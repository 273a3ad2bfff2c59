"""Which operators and dtypes programs need, and the files that tell the C++ build of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import torch

from etlab.exir.emit.file import read_program
from etlab.exir.emit.schema import (
    EValue,
    ExecutionPlan,
    KernelCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from etlab.runtime import _native, dtype_of, scalar_type_of

_HEADER = """\
#pragma once

// Generated for a selective build; stands in for the file of this name in the source tree.

#include <cstdint>
#include <cstring>
#include <string_view>

#include "runtime/core/scalar_type.h"

namespace etlab::selection {

constexpr bool has_operator([[maybe_unused]] std::string_view name) {
  return %(operators)s;
}

// Folded by the compiler wherever the name is a constant.
[[gnu::always_inline]] inline bool has_dtype(const char* op, ScalarType type) {
  const auto has = [type](uint64_t dtypes) {
    return ((dtypes >> static_cast<int>(type)) & 1u) != 0;
  };
%(dtypes)s
  return has(%(any)s);
}

constexpr const char* kNote = " (a selective build: made for programs without it)";

}  // namespace etlab::selection
"""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a set of programs needs of a runtime.

    Attributes:
        operators: the dtypes that each operator computes in, by operator ("aten::add.out").
        backends: ids of the backends that run delegates.
    """

    operators: Mapping[str, frozenset[torch.dtype]]
    backends: tuple[str, ...]

    @property
    def without_kernel(self) -> list[str]:
        """Operators that this runtime has no kernel for: the user's own C++ brings them."""
        known = set(_native.operator_names())
        return sorted(set(self.operators) - known)

    def left_out_files(self) -> list[str]:
        """Kernel files that register none of the operators, for example "portable/abs.cpp".

        Where no fast kernel is needed, by backends neither, all of them and their helpers:
        "optimized/.*" (the names are regular expressions).
        """
        needed: set[str] = set()
        files: set[str] = set()
        for name in _native.operator_names():
            found = set(_files_of(name))
            files |= found
            if name in self.operators:
                needed |= found
        left_out = files - needed
        if not self.backends and not any(name.startswith("optimized/") for name in needed):
            left_out = {name for name in left_out if not name.startswith("optimized/")}
            left_out.add("optimized/.*")
        return sorted(left_out)

    def header(self) -> str:
        """The text of its `runtime/core/selection.h`."""
        names = sorted(self.operators)
        tests = [
            f'  if (std::strcmp(op, "{name}") == 0) return has({self._mask(name)});'
            for name in names
        ]
        every = frozenset().union(*self.operators.values())
        return _HEADER % {
            "operators": " || ".join(f'name == "{name}"' for name in names) or "false",
            "dtypes": "\n".join(tests),
            "any": _mask(every),
        }

    def write(self, folder: Path) -> None:
        """Write what CMake's `ETLAB_SELECTION` names; a file that would not change stays."""
        header = folder / "runtime/core/selection.h"
        header.parent.mkdir(parents=True, exist_ok=True)
        files = {
            header: self.header(),
            folder / "left_out.txt": "".join(f"{name}\n" for name in self.left_out_files()),
            folder / "backends.txt": "".join(f"{name}\n" for name in self.backends),
        }
        for path, text in files.items():
            if not path.exists() or path.read_text() != text:
                path.write_text(text)

    def _mask(self, operator: str) -> str:
        return _mask(self.operators[operator])


def select(programs: Iterable[bytes]) -> Selection:
    """What the programs need together.

    Raises:
        InvalidProgramError: one is damaged, foreign or too new.
    """
    operators: dict[str, set[torch.dtype]] = {}
    backends: set[str] = set()
    for data in programs:
        for plan in read_program(data).program.execution_plan or ():
            for name, dtypes in _calls(plan):
                operators.setdefault(name, set()).update(dtypes)
            backends |= {delegate.id or "" for delegate in plan.delegates or ()}
    # Kernels of one file may share code, which dispatches under the name of one of them.
    by_file: dict[str, set[torch.dtype]] = {}
    for name, dtypes in operators.items():
        by_file.setdefault(_portable_file(name), set()).update(dtypes)
    closed = {name: _closure(by_file[_portable_file(name)]) for name in sorted(operators)}
    return Selection(closed, tuple(sorted(backends)))


def _files_of(operator: str) -> list[str]:
    """The files that register it, for example "portable/add.cpp": the end of what compilers saw."""
    return ["/".join(Path(file).parts[-2:]) for file in _native.kernel_files(operator)]


def _portable_file(operator: str) -> str:
    """Its portable kernel's file; the operator's own name where there is none."""
    found = [file for file in _files_of(operator) if file.startswith("portable/")]
    return found[0] if found else operator


def _calls(plan: ExecutionPlan) -> Iterable[tuple[str, set[torch.dtype]]]:
    """Every operator of a method with the dtypes of a call's tensors."""
    table = plan.operators or ()
    for operator in table:  # those that no instruction calls are asked for when a program is loaded
        yield _full_name(operator.name, operator.overload), set()
    for chain in plan.chains or ():
        for instruction in chain.instructions or ():
            call = instruction.instr_args
            if isinstance(call, KernelCall):
                operator = table[call.op_index]
                dtypes = _dtypes(plan.values or (), call.args or ())
                yield _full_name(operator.name, operator.overload), dtypes


def _full_name(name: str | None, overload: str | None) -> str:
    return f"{name}.{overload}" if overload else str(name)


def _dtypes(values: Sequence[EValue], indices: Iterable[int]) -> set[torch.dtype]:
    found: set[torch.dtype] = set()
    for index in indices:
        value = values[index].val if index >= 0 else None
        if isinstance(value, Tensor):
            found.add(dtype_of(int(value.scalar_type)))
        elif isinstance(value, TensorList | OptionalTensorList):
            found |= _dtypes(values, value.items or ())
    return found


def _closure(dtypes: set[torch.dtype]) -> frozenset[torch.dtype]:
    """The dtypes with all that kernels compute them in: promoted, as float, as integer."""
    closed = {
        torch.promote_types(left, right)
        for left, right in combinations(dtypes, 2)
        if not {left, right} & _STORED_ONLY
    }
    closed |= dtypes
    closed.add(torch.float32)  # half and bfloat16 are computed in it, integers become it
    if any(not dtype.is_floating_point for dtype in dtypes):
        closed.add(torch.int64)  # sums, and numbers among the arguments
    return frozenset(closed)


_STORED_ONLY = {torch.uint16, torch.uint32, torch.uint64}  # eager promotes none of them


def _mask(dtypes: Iterable[torch.dtype]) -> str:
    return hex(sum(1 << scalar_type_of(dtype) for dtype in dtypes)) + "u"
