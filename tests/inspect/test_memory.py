import matplotlib as mpl
import pytest
import torch

import etlab
from etlab.errors import InvalidArgumentError, MemoryPlanError
from etlab.exir.memory import list_planners
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


def test_text_says_who_is_alive_at_the_peak(toy):
    text = str(toy)
    assert toy.summary() in text
    assert "alive at the peak, step 1 (step 1): the largest of 2" in text
    both = report(
        tensor(0, 64, 0, 0, 1), tensor(1, 32, 16, 0, 1, memory_id=2), arenas={1: 64, 2: 48}
    )
    assert "lower bound" in str(both)


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
    assert "peak 0 B" in str(nothing)
    assert nothing.to_dataframe().empty


def test_the_curve_below_names_the_peak(toy):
    svg = toy.to_svg()
    assert "192 B alive at step 1" in svg
    assert svg.index("192 B alive") > svg.index("peak 192 B")


def test_the_check_finds_tensors_that_overlap(toy):
    toy.check()
    with pytest.raises(MemoryPlanError, match=r"'t0'.*'t1'"):
        report(tensor(0, 64, 0, 0, 1), tensor(1, 64, 32, 1, 2)).check()
    with pytest.raises(MemoryPlanError, match="'t0' takes bytes 0 to 64 of arena 1, which has 48"):
        report(tensor(0, 64, 0, 0, 1), arenas={1: 48}).check()


def test_advice_says_what_a_change_saves():
    advice = report(
        tensor(0, 64, 0, 0, 3, "input"),
        tensor(1, 128, 64, 1, 2, "aten::constant_pad_nd.out"),
        tensor(2, 32, 192, 2, 2),
    ).advice
    saves = {one.tensor: one.saves for one in advice if "float32" not in one.text}
    assert saves == {"t0": 64, "t1": 128}  # without the padded copy, 96 of 224 are needed
    assert advice[0].tensor == "t1"
    assert "padding=" in advice[0].text


def test_a_tensor_that_waits_at_the_peak_is_named():
    advice = report(
        tensor(0, 128, 0, 0, 3, "aten::relu.out"),
        tensor(1, 64, 128, 1, 1),
        tensor(2, 16, 128, 2, 3),
    ).advice
    assert any(one.tensor == "t0" and "waits from step 0 to step 3" in one.text for one in advice)


def test_wasted_bytes_are_an_advice():
    (first, *_) = report(tensor(0, 64, 64, 0, 1)).advice
    assert (first.tensor, first.saves) == ("", 64)
    assert "other planners" in first.text


def test_what_if_plans_the_same_tensors_anew(toy):
    table = toy.what_if(alignments=(16, 256))
    assert {row.planner for row in table.rows} == set(list_planners())
    assert table.best.is_current
    frame = table.to_dataframe()
    assert list(frame.nbytes) == sorted(frame.nbytes)
    wide = frame[(frame.planner == "search") & (frame.alignment == 256)]
    assert list(wide.nbytes) == [512]
    naive = frame[(frame.planner == "naive") & (frame.alignment == 16)]
    assert list(naive.nbytes) == [64 + 128 + 32]
    assert "<- this plan" in repr(table)


def test_what_if_takes_functions(toy):
    def bottom(intervals):
        return [0 for _ in intervals]

    assert toy.what_if([bottom]).best.planner == "bottom"


def test_memories_have_a_table_of_their_own():
    both = report(
        tensor(0, 64, 0, 0, 1), tensor(1, 32, 0, 0, 1, memory_id=2), arenas={1: 64, 2: 32}
    )
    page = both._repr_html_()
    assert "lower bound</th>" in page
    assert "traffic</th>" in page


def test_a_run_can_be_planned_anew():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Softmax(1))
    run = etlab.export(model, torch.ones(2, 4))
    present = run.memory_plan()
    assert run.memory_plan(planner="naive").peak > present.peak
    assert run.memory_plan(alignment=512).peak % 512 == 0
    apart = run.memory_plan(alloc_graph_input=False)
    assert len(apart.plan.tensors) == len(present.plan.tensors) - 1
    assert run.memory_plan().plan == present.plan
    with pytest.raises(InvalidArgumentError, match="no argument size; there is planner, "):
        run.memory_plan(size=3)


def test_the_padding_for_delegates_is_no_fragmentation():
    run = etlab.export(torch.nn.Linear(4, 4), torch.ones(2, 4), partitioner="xnnpack")
    stored = run.file.memory_plan()
    assert stored.fragmentation == run.memory_plan().fragmentation == 0.0
    assert stored.peak == stored.lower_bound == 64 + 64
