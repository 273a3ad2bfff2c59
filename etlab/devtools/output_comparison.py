"""`compare_results`: outputs of a program beside those that they should be."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from etlab import display
from etlab.devtools.distances import mean_square, on_numbers, signal_to_noise
from etlab.errors import InvalidArgumentError
from etlab.numerics.metrics import metric


def compare_results(
    reference_output: Sequence[Any],
    run_output: Sequence[Any],
    metrics: Sequence[str] | None = None,
    plot: bool = False,
) -> dict[str, list[float]]:
    """Compare outputs one by one, and print what comes out.

    Args:
        reference_output: what is right: tensors, numbers, or lists of tensors.
        run_output: what a program returned, for example `event_block.run_output`.
        metrics: "snr" (decibels), "mse" and "cosine_similarity"; all by default.
        plot: write a picture `<metric>_output_plot.png` for each too, and show it in a notebook.

    Returns:
        By metric one number an output, the mean where the output is a list. NaN and infinities that
        agree count as equal.

    Raises:
        InvalidArgumentError: there is no such metric, or the outputs have other numbers or sizes.
    """
    chosen = list(_METRICS) if metrics is None else list(metrics)
    unknown = [name for name in chosen if name not in _METRICS]
    if unknown:
        raise InvalidArgumentError(
            f"compare_results: no metric {', '.join(map(repr, unknown))}; choose from"
            f" {', '.join(_METRICS)}"
        )
    pairs = _paired(reference_output, run_output)
    found = {name: [_mean(_METRICS[name], pair) for pair in pairs] for name in chosen}
    rows = [(i, *(f"{found[name][i]:.5g}" for name in chosen)) for i in range(len(pairs))]
    print(display.text_table(("output", *chosen), rows))
    if plot:
        for name, values in found.items():
            _plot(name, values)
    return found


def _mean_squared_error(wanted: Any, actual: Any) -> float:
    return on_numbers(mean_square, wanted, actual)


def _signal_to_noise(wanted: Any, actual: Any) -> float:
    return on_numbers(signal_to_noise, wanted, actual)


def _cosine_similarity(wanted: Any, actual: Any) -> float:
    value = metric("cosine").compute([torch.as_tensor(actual)], [torch.as_tensor(wanted)])
    return float("nan") if value is None else float(value)


_METRICS: dict[str, Callable[[Any, Any], float]] = {
    "snr": _signal_to_noise,
    "mse": _mean_squared_error,
    "cosine_similarity": _cosine_similarity,
}


def _paired(reference: Sequence[Any], actual: Sequence[Any]) -> list[list[tuple[Any, Any]]]:
    """For each output the values to compare: one pair, or one for each item of a list."""
    if len(reference) != len(actual):
        raise InvalidArgumentError(
            f"compare_results: {len(reference)} outputs are given as reference, and {len(actual)}"
            " came; give both of one method"
        )
    pairs = []
    for index, (wanted, got) in enumerate(zip(reference, actual, strict=True)):
        wanted_items = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
        got_items = list(got) if isinstance(got, list | tuple) else [got]
        shapes = [
            [tuple(torch.as_tensor(v).shape) for v in side] for side in (wanted_items, got_items)
        ]
        if shapes[0] != shapes[1]:
            raise InvalidArgumentError(
                f"compare_results: output {index} has sizes {shapes[1]}, the reference {shapes[0]}"
            )
        pairs.append(list(zip(wanted_items, got_items, strict=True)))
    return pairs


def _sizes(values: Sequence[Any]) -> list[tuple[int, ...]]:
    return [tuple(torch.as_tensor(value).shape) for value in values]


def _mean(compute: Callable[[Any, Any], float], pairs: Sequence[tuple[Any, Any]]) -> float:
    values = [compute(wanted, actual) for wanted, actual in pairs]
    return sum(values) / len(values) if values else float("nan")


def _plot(name: str, values: Sequence[float]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.add_subplot(xlabel="output", ylabel=name)
    axes.bar(range(len(values)), values)
    axes.set_xticks(range(len(values)))
    path = Path(f"{name}_output_plot.png")
    figure.savefig(path)
    try:
        from IPython import get_ipython
        from IPython.display import Image
        from IPython.display import display as show
    except ImportError:
        return  # not in a notebook
    if get_ipython() is not None:
        show(Image(filename=str(path)))
