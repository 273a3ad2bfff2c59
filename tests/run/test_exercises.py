import torch
from torch import nn

import etlab
from etlab.exercises import fewer_calls_left


class Scaled(nn.Module):
    def forward(self, x, weight):
        return x.relu() * weight.to(x.dtype)


def answered(weight, capsys):
    run = etlab.export(Scaled(), (torch.randn(3, 5), weight), partitioner="xnnpack")
    fewer_calls_left(run, calls=0, sqnr_db=100)
    return capsys.readouterr().out


def test_the_delegation_exercise_says_what_is_missing_and_when_it_is_done(capsys):
    whole = torch.arange(5)
    text = answered(whole, capsys)
    assert text.startswith("Not yet:\n  1 calls stay, more than 0; 1 of them because of int64")
    assert answered(whole.float(), capsys) == "Done.\n"
