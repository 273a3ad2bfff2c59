"""The one family of exceptions: everything etlab raises on purpose is an `EtlabError`.

A message names the thing, what was expected, what came and the way out. Native errors arrive here
too: the bindings turn each kind of `etlab::Error` into the class of the same meaning.
"""


class EtlabError(Exception):
    """Base of all errors raised by etlab."""


class InternalError(EtlabError):
    """Something that cannot happen did: a bug in etlab itself."""


class InvalidArgumentError(EtlabError, ValueError):
    """An argument has the wrong count, shape, dtype or value."""


class InvalidProgramError(EtlabError, ValueError):
    """A file or buffer is no program that can be loaded: damaged, foreign, too new."""

    # Where a backend in Python finds that, natively as well: the fault is not in its code.
    needs_no_traceback = True


class NotFoundError(EtlabError, LookupError):
    """A method, tensor, key or name does not exist."""


class NotSupportedError(EtlabError, NotImplementedError):
    """A valid request that etlab does not serve."""


class OperatorMissingError(NotSupportedError):
    """One or more operators have no kernel or no out variant."""


class BackendMissingError(NotSupportedError):
    """A program needs a backend that is not registered in this process."""


class OutOfMemoryError(EtlabError, MemoryError):
    """Memory could not be had."""


class AccessError(EtlabError, OSError):
    """A file could not be read or written."""


class InterruptedExecutionError(EtlabError):
    """A running method or lowering was asked to stop and did."""


class ExportError(EtlabError):
    """`torch.export` refused the model; the cause is chained."""


class LoweringError(EtlabError):
    """The compiler refused a graph."""


class UnsupportedOperatorError(LoweringError, NotSupportedError):
    """Operators that cannot be lowered, all of them, each with its node and source line."""


class MemoryPlanError(LoweringError):
    """A memory plan is invalid or does not fit."""


class VerificationError(EtlabError, AssertionError):
    """A program's outputs are not the expected ones."""
