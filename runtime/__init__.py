"""The native runtime: load a program, run a method.

Example::

    program = Runtime.get().load_program("model.pte")
    method = program.load_method("forward")
    outputs = method.execute([torch.ones(2, 2)])

Times and values of every instruction, and of every node within delegates::

    with method.trace(results=True) as events:
        method.execute([torch.ones(2, 2)])
    for event in events:
        event.name, event.duration, event.result
        for node in event.nodes:
            node.name, node.index, node.debug_handle, node.results[0].tensor, node.results[0].raw
"""

from etlab.runtime.custom_kernels import load_kernels, register_kernel, unregister_kernel
from etlab.runtime.dtypes import dtype_of, scalar_type_of
from etlab.runtime.memory import MethodMemory
from etlab.runtime.metadata import Instruction, MethodMeta, MethodMetadata, TensorInfo
from etlab.runtime.method import Method
from etlab.runtime.program import Program, Runtime, Verification
from etlab.runtime.registries import (
    Backend,
    BackendRegistry,
    Delegate,
    NamedData,
    NodeObserver,
    OperatorRegistry,
    register_backend,
)
from etlab.runtime.roofline import Roofline, measure_roofline
from etlab.runtime.stand_ins import standing_in, stands_in
from etlab.runtime.threads import set_thread_count, thread_count
from etlab.runtime.trace import EventTrace, NodeEvent, NodeResult, RunTrace, TraceEvent

__all__ = [
    "Backend",
    "BackendRegistry",
    "Delegate",
    "EventTrace",
    "Instruction",
    "Method",
    "MethodMemory",
    "MethodMeta",
    "MethodMetadata",
    "NamedData",
    "NodeEvent",
    "NodeObserver",
    "NodeResult",
    "OperatorRegistry",
    "Program",
    "Roofline",
    "RunTrace",
    "Runtime",
    "TensorInfo",
    "TraceEvent",
    "Verification",
    "dtype_of",
    "load_kernels",
    "measure_roofline",
    "register_backend",
    "register_kernel",
    "scalar_type_of",
    "set_thread_count",
    "standing_in",
    "stands_in",
    "thread_count",
    "unregister_kernel",
]
