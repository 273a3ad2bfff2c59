"""Which nodes go to an Ethos-U: what TOSA takes, without what the NPU refuses."""

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.backends.arm import package
from etlab.backends.arm.ethosu.compile_spec import SYSTEMS_FILE, EthosUCompileSpec
from etlab.backends.arm.ethosu.limits import has_limits, why_not
from etlab.backends.arm.ethosu.vela import check_installed
from etlab.backends.arm.lowering import lower_alone
from etlab.backends.arm.quantized import Operation
from etlab.backends.arm.tosa.partitioner import TOSAPartitioner
from etlab.exir.partition.partitioner import DelegationSpec, PartitionResult

BACKEND_ID = "EthosUBackend"


class EthosUPartitioner(TOSAPartitioner):
    """Gives an Ethos-U the 8-bit integers that it computes; Vela compiles them.

    Args:
        compile_spec: the NPU and what is around it; None takes the arguments behind it.
        target: "ethos-u55-32" to "-256", "ethos-u65-256" or "-512", "ethos-u85-128" to "-2048".
        system_config: clock and memories, by their name in `config_ini`; empty: ExecuTorch's choice
            for the NPU.
        memory_mode: what lies in which memory, likewise.
        config_ini: a description of systems; Vela's own by default.
        extra_flags: more options of Vela, such as "--optimise=Size".
        operators: operators to take, as objects or names; None takes all.
    """

    choice = "ethos-u"
    backend_id = BACKEND_ID
    needs = package.VELA

    def __init__(
        self,
        compile_spec: EthosUCompileSpec | None = None,
        *,
        target: str = "ethos-u55-128",
        system_config: str = "",
        memory_mode: str = "",
        config_ini: str = SYSTEMS_FILE,
        extra_flags: Sequence[str] = (),
        operators: Collection[str | OpOverload] | None = None,
    ) -> None:
        super().__init__(operators=operators)
        self.ethos_u = compile_spec or EthosUCompileSpec(
            target, system_config, memory_mode, tuple(extra_flags), config_ini
        )

    def delegation_spec(self) -> DelegationSpec:
        """The backend and what Vela is told."""
        return DelegationSpec(BACKEND_ID, self.ethos_u.to_list())

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what the NPU takes.

        Raises:
            BackendMissingError: Vela is not installed.
        """
        check_installed()
        return super().partition(exported_program)

    def why_not_operation(
        self, operation: Operation, constants: Mapping[fx.Node, torch.Tensor]
    ) -> str | None:
        """Why the NPU refuses an operation; None when it takes it."""
        if not has_limits(self.ethos_u.family):
            return None
        return why_not(lower_alone(operation, constants), self.ethos_u.family)


class _OneEthosU(EthosUPartitioner):
    """Gives one NPU the 8-bit integers that it computes; arguments as of `EthosUPartitioner`."""

    target: ClassVar[str]

    def __init__(
        self,
        *,
        system_config: str = "",
        memory_mode: str = "",
        extra_flags: Sequence[str] = (),
        operators: Collection[str | OpOverload] | None = None,
    ) -> None:
        super().__init__(
            target=self.target,
            system_config=system_config,
            memory_mode=memory_mode,
            extra_flags=extra_flags,
            operators=operators,
        )


class EthosU55Partitioner(_OneEthosU):
    """Gives an Ethos-U55 with 128 multiplications a cycle the 8-bit integers that it computes."""

    choice = target = "ethos-u55-128"


class EthosU85Partitioner(_OneEthosU):
    """Gives an Ethos-U85 with 256 multiplications a cycle the 8-bit integers that it computes."""

    choice = target = "ethos-u85-256"
