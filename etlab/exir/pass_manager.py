"""`PassManager`: several torch.fx passes as one, with checks in between."""

from torch.fx.passes.infra.pass_manager import PassManager

__all__ = ["PassManager"]
