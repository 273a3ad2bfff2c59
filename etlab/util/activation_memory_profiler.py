"""`generate_memory_trace`: a memory plan as a Chrome trace."""

from pathlib import Path

from etlab.exir import ExecutorchProgramManager
from etlab.exir.memory.trace_events import plan_events, write_events

__all__ = ["generate_memory_trace"]


def generate_memory_trace(
    executorch_program_manager: ExecutorchProgramManager,
    chrome_trace_filename: str | Path,
    enable_memory_offsets: bool = False,
    method_name: str = "forward",
    ommit_metadata: bool = False,
) -> None:
    """Write which tensors are alive at each instruction, to be opened in chrome://tracing.

    Every instruction is a thread, every arena a process; a tensor is as long as it has bytes.

    Args:
        executorch_program_manager: what `to_executorch` returned.
        chrome_trace_filename: where to write the JSON.
        enable_memory_offsets: begin every tensor at its offset in the arena; by default they stand
            one behind the other.
        method_name: which method.
        ommit_metadata: leave out operator, module and source.

    Raises:
        NotFoundError: there is no such method.
        AccessError: the place cannot be written.
    """
    plan = executorch_program_manager.memory_plan(method_name)
    events = plan_events(plan, at_offsets=enable_memory_offsets, with_sources=not ommit_metadata)
    write_events(events, chrome_trace_filename)
