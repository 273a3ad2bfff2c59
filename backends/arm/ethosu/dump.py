"""A stream of Vela as text."""

from collections.abc import Iterator

from etlab.backends.arm.ethosu.commands import outline
from etlab.backends.arm.ethosu.stream import StreamTensor, VelaStream


def dump_stream(stream: VelaStream) -> str:
    """What a stream holds, line by line."""
    return "\n".join(_lines(stream))


def _lines(stream: VelaStream) -> Iterator[str]:
    yield "Ethos-U command stream of Vela"
    if key := stream.outside.get("cmd_data"):
        yield f"  commands   outside, under {key}"
    else:
        found = outline(stream.commands)
        yield f"  for        {found.product or 'an NPU that it does not name'}-{found.macs}"
        yield f"  commands   {len(stream.commands):,} bytes, {found.registers} registers set"
        for name, count in found.counts.items():
            yield f"    {count:5} x {name}"
    if key := stream.outside.get("weight_data"):
        yield f"  weights    outside, under {key}"
    else:
        yield f"  weights    {len(stream.weights):,} bytes, packed, with scales and biases"
    yield f"  scratch    {stream.scratch:,} bytes, taken while it runs"
    for title, tensors in (("input", stream.inputs), ("output", stream.outputs)):
        for index, tensor in enumerate(tensors):
            yield f"  {title:6} {index:3} {_text(tensor)}"


def _text(tensor: StreamTensor) -> str:
    sizes = list(tensor.shape)
    while len(sizes) > 1 and sizes[0] == 1:
        del sizes[0]
    shape = " x ".join(map(str, sizes))
    return (
        f"{shape} of {8 * tensor.element_size} bits at byte {tensor.offset} of region"
        f" {tensor.region}"
    )
