"""The plan of a real network: what a device with 256 KB of fast memory gets."""

import pytest
import torch

from etlab.errors import MemoryPlanError, NotFoundError
from etlab.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from etlab.exir.memory import Memory, MemoryPlanningPass
from etlab.exir.program import EdgeProgramManager
from etlab.runtime import Runtime

SRAM = 256 * 1024


@pytest.fixture(scope="module")
def edge() -> EdgeProgramManager:
    from etlab.models.efficientnet_lite0 import load

    try:
        model = load()
    except NotFoundError as error:
        pytest.skip(str(error))
    return to_edge(torch.export.export(model, (torch.randn(1, 3, 224, 224),), strict=False))


def _lower(edge: EdgeProgramManager, **options: object) -> ExecutorchProgramManager:
    planning = MemoryPlanningPass(**options)  # type: ignore[arg-type]
    return edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))


def _outputs(program: ExecutorchProgramManager, *, check: bool = False) -> torch.Tensor:
    inputs = torch.randn(1, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    method = Runtime.get().load_program(program.buffer).load_method("forward", check_memory=check)
    result: torch.Tensor = method.execute((inputs,))[0]
    return result


def test_fast_memory_of_256_kilobytes_changes_no_bit(edge: EdgeProgramManager) -> None:
    two = _lower(edge, memories=[Memory("sram", SRAM), Memory("dram")])
    plan = two.memory_plan()
    plan.check()
    sram, dram = plan.arenas
    assert 0 < sram.nbytes <= SRAM
    assert sram.tensors >= 10
    assert dram.tensors == len(plan.spilled)
    assert torch.equal(_outputs(two, check=True), _outputs(_lower(edge)))


def test_too_little_memory_is_answered_with_who_holds_it(edge: EdgeProgramManager) -> None:
    with pytest.raises(
        MemoryPlanError, match=r"'dram' lacks [\d,]+ bytes: .* held by 'constant_pad"
    ):
        _lower(edge, memories=[Memory("sram", SRAM), Memory("dram", 4_000_000)])


def test_the_plan_is_at_its_lower_bound(edge: EdgeProgramManager) -> None:
    plan = _lower(edge).memory_plan()
    assert plan.peak == plan.lower_bound
