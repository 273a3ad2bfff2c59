"""A result shares memory exactly where eager shares it, whatever the layout is."""

import pytest
import torch
from torch import nn

from etlab.testing_graphs import check_lowering

torch.manual_seed(0)
LAST, ROWS = torch.channels_last, torch.contiguous_format
PICTURE = torch.randn(2, 3, 4, 5)
PICTURES = {
    "rows": PICTURE,
    "channels_last": PICTURE.to(memory_format=LAST),
    "transposed": PICTURE.transpose(2, 3).contiguous().transpose(2, 3),
    "sizes_of_one": torch.randn(1, 1, 1, 8),
    "one_channel": torch.randn(2, 1, 3, 4),
    "one_channel_last": torch.randn(2, 3, 4, 1).permute(0, 3, 1, 2),
}
OPERATIONS = {
    "to_last": lambda x: x.to(memory_format=LAST),
    "to_rows": lambda x: x.to(memory_format=ROWS),
    "to_preserved": lambda x: x.to(memory_format=torch.preserve_format),
    "to_dtype_and_last": lambda x: x.to(torch.float32, memory_format=LAST),
    "to_copy": lambda x: x.to(torch.float32, copy=True),
    "to_like": lambda x: x.type_as(x),
    "contiguous": lambda x: x.contiguous(),
    "contiguous_last": lambda x: x.contiguous(memory_format=LAST),
    "there_and_back": lambda x: x.contiguous(memory_format=LAST).contiguous(),
    "cloned_last": lambda x: x.clone(memory_format=LAST).reshape(-1),
    "through_double": lambda x: x.double().contiguous(),
    "flat": lambda x: x.reshape(-1),
    "flattened": lambda x: x.flatten(1, 2),
    "raveled": lambda x: x.ravel(),
    "squeezed": lambda x: x.squeeze(1).contiguous(),
    "sliced": lambda x: x[:, :, 1:].contiguous(),
    "turned": lambda x: x.permute(0, 2, 3, 1).contiguous(),
    "evaluated_dropout": lambda x: nn.functional.dropout(x, training=False),
}


class Written(nn.Module):
    """Applies all operations; writes each result, or what it was taken from."""

    def __init__(self, writes_result):
        super().__init__()
        self.writes_result = writes_result

    def forward(self, picture):
        results = []
        for operation in OPERATIONS.values():
            base = picture * 2
            result = operation(base)
            (result if self.writes_result else base).add_(1)
            results.append((base, result))
        return results


@pytest.mark.parametrize("writes_result", [True, False], ids=["result_written", "base_written"])
@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_results_share_memory_where_eager_shares_it(picture, writes_result):
    check_lowering(Written(writes_result), picture)


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_an_input_is_written_only_where_eager_writes_it(picture):
    class Writer(nn.Module):
        def forward(self, first, second, third):
            first.contiguous().add_(1)
            second.to(memory_format=LAST).add_(1)
            third.reshape(-1).add_(1)
            return first + second + third

    def alike():
        return picture.clone(memory_format=torch.preserve_format)

    check_lowering(Writer(), alike(), alike(), alike())


def test_sizes_known_only_at_run_time_share_memory_where_eager_shares_it():
    class Model(nn.Module):
        def forward(self, x):
            base = x * 2
            turned = base.transpose(0, 1)
            copied, viewed = turned.reshape(-1), base.reshape(-1)
            copied.add_(1)
            viewed.mul_(3)
            packed = turned.contiguous()
            packed.sub_(1)
            return base, copied, viewed, packed

    sizes = {0: torch.export.Dim("rows", max=9), 1: torch.export.Dim("columns", max=9)}
    check_lowering(
        Model(),
        torch.randn(3, 5),
        dynamic_shapes=(sizes,),
        more_inputs=[(torch.randn(4, 7),)],
    )
