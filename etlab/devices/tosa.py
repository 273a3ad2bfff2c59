"""TOSA's reference model in the place of an NPU."""

from etlab.devices.base import StandIn


class Tosa(StandIn):
    """Arm's reference model of TOSA, in this process: what an NPU computes, to the bit.

    Delegates of an Ethos-U run the TOSA graph that was kept beside their command stream; everything
    else runs as in the path "native".
    """

    name = "tosa"
    needs = "tosa_reference_model"
    way_out = "pip install 'etlab[arm]'"


DEVICE = Tosa
