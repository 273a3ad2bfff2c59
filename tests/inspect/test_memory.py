import matplotlib as mpl
import pytest
import torch

from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.inspect.memory import MemoryReport

mpl.use("agg")


def tensor(i, nbytes, offset, first, last, operator="aten::relu.out", memory_id=1):
    return PlannedTensor(
        i, f"t{i}", operator, "block", "model.py:3", nbytes, torch.float32, (nbytes // 4,),
        memory_id, offset, first, last,
    )  # fmt: skip


def report(*tensors, arenas=None, steps=4):
    sizes = arenas or {1: max(one.offset + one.nbytes for one in tensors)}
    names = tuple(f"step {i}" for i in range(steps))
    return MemoryReport("toy", MemoryPlan("forward", tensors, sizes, 16, names, "greedy"))


@pytest.fixture
def toy():
    return report(
        tensor(0, 64, 0, 0, 1, "input"),
        tensor(1, 128, 64, 1, 2),
        tensor(2, 32, 0, 2, 3, "aten::add.out"),
    )


def test_report_repeats_the_plan(toy):
    assert (toy.peak, toy.lower_bound) == (192, 192)
    assert toy.peak_step == 1
    assert [one.name for one in toy.at(2)] == ["t2", "t1"]


def test_picture_holds_one_rectangle_a_tensor(toy):
    assert toy.to_svg().count("h-") == 3
    boxes = [(box.left, box.right, box.bottom, box.top) for box in toy.boxes()]
    assert boxes == [(0, 2, 0, 64), (1, 3, 64, 192), (2, 4, 0, 32)]


def test_arenas_stand_on_top_of_each_other():
    both = report(
        tensor(0, 64, 0, 0, 1), tensor(1, 32, 16, 0, 1, memory_id=2), arenas={1: 64, 2: 48}
    )
    assert [box.bottom for box in both.boxes()] == [0, 80]


def test_table_frame_and_picture_agree(toy):
    page = toy._repr_html_()
    frame = toy.to_dataframe()
    assert list(frame.nbytes) == [64, 128, 32]
    assert "192 B" in page
    assert "alive at the peak, step 1 (step 1)" in page
    assert 'src="data:image/svg+xml;base64,' in page
    assert "<script" not in page
    assert "<style" not in page


def test_plot_draws_the_same_rectangles(toy):
    axes = toy.plot()
    drawn = [(box.get_x(), box.get_width(), box.get_height() * 1024) for box in axes.patches]
    assert drawn == [(0, 2, 64), (1, 2, 128), (2, 2, 32)]


def test_picture_of_five_thousand_tensors_stays_small():
    many = [tensor(i, 64, 64 * (i % 97), i, i + 3, f"op{i % 11}") for i in range(5000)]
    assert len(report(*many, steps=5003)._repr_html_()) < 400_000
    assert len(report(*many, steps=5003).to_svg()) < 250_000


def test_empty_plan_is_drawn():
    nothing = MemoryReport("toy", MemoryPlan("forward", (), {}, 16, (), "greedy"))
    assert "<svg" in nothing.to_svg()
    assert "peak 0 B" in nothing._repr_html_()
    assert nothing.to_dataframe().empty
