import contextlib

import pytest
import torch

from etlab.errors import InvalidArgumentError
from etlab.numerics import ParityError, compare
from etlab.numerics.data import describe, looks_like_noise, warnings_about
from etlab.numerics.parity import PathAbsentError, PathNotApplicableError, as_samples

PICTURE = torch.linspace(0, 1, 300).reshape(1, 3, 10, 10)


def path(function):
    @contextlib.contextmanager
    def opened():
        yield function

    return opened


def failing(error):
    @contextlib.contextmanager
    def opened():
        raise error
        yield

    return opened


def report(*, samples=((PICTURE,),), **others):
    paths = {"eager": path(lambda args: [args[0] * 2])}
    paths |= {name: one if one.__name__ == "opened" else path(one) for name, one in others.items()}
    return compare(paths, list(samples), model="double", output_names=["y"])


def test_report_holds_one_row_a_path_and_output():
    found = report(native=lambda args: [args[0] + args[0]], rough=lambda args: [args[0] * 2.1])
    assert [(row.path, row.output, row.status) for row in found.rows] == [
        ("eager", "y", "ok"),
        ("native", "y", "ok"),
        ("rough", "y", "ok"),
    ]
    assert found.row("rough", "y").values["max_abs"] == pytest.approx(0.1)
    frame = found.to_dataframe()
    assert list(frame.path) == ["eager", "native", "rough"]
    assert frame.max_abs[2] == found.row("rough").values["max_abs"]


def test_text_html_and_frame_show_the_same_numbers():
    found = report(rough=lambda args: [args[0] * 2.1])
    shown = f"{found.to_dataframe().sqnr_db[1]:.1f}"
    assert shown in str(found)
    assert f">{shown}<" in found._repr_html_()
    assert shown in repr(found)
    assert "\n" not in repr(found)


def test_dead_path_is_a_row_with_its_reason():
    found = report(official=failing(RuntimeError("Missing operator: [7] aten::foo.out")))
    row = found.row("official")
    assert (row.status, row.output) == ("failed", "")
    assert row.reason == "RuntimeError: Missing operator: [7] aten::foo.out"
    with pytest.raises(ParityError, match=r"aten::foo\.out"):
        found.check()


def test_absent_path_passes_the_check_unless_it_is_asked_for():
    found = report(official=failing(PathAbsentError("not installed")), native=lambda a: [a[0] * 2])
    found.check(sqnr_db=40)
    with pytest.raises(ParityError, match="official: not installed"):
        found.check(paths=["official"], sqnr_db=40)


def test_path_that_can_never_run_a_program_does_not_fail_the_check():
    error = PathNotApplicableError("the official runtime has no MyBackend")
    found = report(official=failing(error), native=lambda a: [a[0] * 2])
    assert found.row("official").status == "not applicable"
    assert "not applicable" in str(found)
    found.check(sqnr_db=40)
    with pytest.raises(ParityError, match="official: the official runtime has no MyBackend"):
        found.check(paths=["official"], sqnr_db=40)


def test_check_lists_every_missed_bound():
    found = report(a=lambda args: [args[0] * 2.1], b=lambda args: [args[0] * -2])
    with pytest.raises(ParityError) as caught:
        found.check(sqnr_db=100, cosine=0.5)
    message = str(caught.value)
    assert "a, y: sqnr_db 26.0 < 100" in message
    assert "b, y: cosine -1.000000 < 0.5" in message


def test_check_fails_when_nothing_was_compared():
    with pytest.raises(ParityError, match="nothing was compared"):
        report().check(sqnr_db=1)


def test_check_fails_on_nan():
    found = report(native=lambda args: [args[0] * float("nan")])
    for bound in ({"sqnr_db": -1000.0}, {"max_abs": 1e30}, {"cosine": -1.0}):
        with pytest.raises(ParityError):
            found.check(**bound)


@pytest.mark.parametrize(
    ("outputs", "reason"),
    [
        (lambda args: [], "0 outputs, the reference has 1"),
        (lambda args: [args[0][0]], r"shape \(3, 10, 10\), the reference has \(1, 3, 10, 10\)"),
        (lambda args: [args[0].double()], "dtype torch.float64, the reference has torch.float32"),
        (lambda args: [None], "None on this path only"),
    ],
)
def test_outputs_that_cannot_be_compared_are_failures(outputs, reason):
    row = report(native=outputs).row("native")
    assert row.status == "failed"
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(row.reason)


def test_worst_sample_is_named():
    samples = [(PICTURE,), (PICTURE + 1,), (PICTURE * 3,)]
    found = report(
        samples=samples,
        native=lambda args: [args[0] * (2.5 if args[0].max() == 2 else 2)],
    )
    assert found.row("native").worst_sample == 1
    assert found.samples == 3


def test_paths_do_not_see_each_others_memory():
    shared = torch.zeros(1, 3, 10, 10)

    def reuses(args):
        shared.copy_(args[0] * 2)
        return [shared]

    found = report(samples=[(PICTURE,), (PICTURE * 5,)], native=reuses)
    assert found.row("native").values["max_abs"] == 0.0


def test_paths_may_change_their_inputs():
    picture = PICTURE.clone()
    found = report(
        samples=[(picture,)],
        native=lambda args: [args[0].mul_(2)],
        last=lambda args: [args[0] * 2],
    )
    assert found.row("native").values["max_abs"] == found.row("last").values["max_abs"] == 0.0
    assert torch.equal(picture, PICTURE)


def test_reference_must_be_among_the_paths():
    with pytest.raises(InvalidArgumentError, match="eager"):
        compare({}, [(PICTURE,)], model="m")


def test_samples_are_a_tensor_a_tuple_or_a_list_of_tuples():
    assert as_samples(PICTURE) == [(PICTURE,)]
    assert as_samples((PICTURE,)) == [(PICTURE,)]
    assert as_samples([(PICTURE,), (PICTURE,)]) == [(PICTURE,), (PICTURE,)]
    with pytest.raises(InvalidArgumentError):
        as_samples([])


@pytest.mark.parametrize("seed", range(5))
def test_noise_is_recognised(seed):
    torch.manual_seed(seed)
    for noise in (torch.randn(1, 3, 32, 32), torch.rand(4, 100), torch.rand(2, 500) * 2 - 1):
        assert looks_like_noise(noise)


def test_real_and_structured_data_are_not_noise():
    rows = torch.arange(64.0)
    wave = torch.sin(rows[:, None] / 9) * torch.cos(rows[None] / 7)
    for data in (PICTURE, wave, torch.zeros(500), torch.ones(3), torch.arange(900)):
        assert not looks_like_noise(data)
    assert not looks_like_noise((torch.rand(2000) > 0.9).float())


def test_warnings_speak_of_noise_and_of_constants():
    torch.manual_seed(0)
    assert "random noise" in warnings_about([(torch.randn(5, 77),)])[0]
    assert "constant" in warnings_about([(torch.ones(5, 77),)])[0]
    assert warnings_about([(PICTURE,)]) == []
    assert "random noise" in report(samples=[(torch.randn(1, 3, 16, 16),)])._repr_html_()


def test_data_is_described_in_words():
    assert describe([(PICTURE,)] * 2) == "2 samples of (1, 3, 10, 10) float32 in [0, 1]"


def test_an_output_that_lies_otherwise_than_the_references_is_noted():
    last = PICTURE.to(memory_format=torch.channels_last)
    found = report(
        samples=((last,),),
        native=lambda args: [(args[0] * 2).contiguous()],
        same=lambda args: [args[0] * 2],
    )
    notes = [note for note in found.warnings if "strides" in note]
    assert len(notes) == 1
    assert notes[0].startswith("native: output 'y'")
    assert found.row("native").values["max_abs"] == 0
