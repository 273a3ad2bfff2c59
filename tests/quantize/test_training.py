"""Training with quantization: a real run, converted, lowered and judged on held-out data."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.xnnpack import node_names
from torch import nn

import etlab
from etlab.backends.xnnpack import XNNPACKQuantizer, get_symmetric_quantization_config
from etlab.quantize.pt2e.flow import convert_pt2e, prepare_qat_pt2e

BATCH = 32


class Reader(nn.Module):
    """Reads digits of 8 x 8 pixels."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1, bias=False),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.Conv2d(8, 8, 3, padding=1, groups=8),
            nn.BatchNorm2d(8),
            nn.ReLU6(),
            nn.MaxPool2d(2),
        )
        self.head = nn.Sequential(
            nn.Linear(128, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10)
        )

    def forward(self, x):
        return self.head(self.features(x).flatten(1))


@pytest.fixture(scope="module")
def digits():
    """Pictures and labels: 1,440 to train on and 352 held out."""
    datasets = pytest.importorskip("sklearn.datasets", reason="needs scikit-learn")
    data = datasets.load_digits()
    pictures = torch.tensor(data.images, dtype=torch.float32).unsqueeze(1) / 16
    labels = torch.tensor(data.target)
    order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(0))
    pictures, labels = pictures[order], labels[order]
    return (pictures[:1440], labels[:1440]), (pictures[1440:1792], labels[1440:1792])


def _train(model, data, epochs, rate):
    optimizer = torch.optim.Adam(model.parameters(), rate)
    for epoch in range(epochs):
        order = torch.randperm(len(data[1]), generator=torch.Generator().manual_seed(epoch))
        for rows in order.split(BATCH):
            optimizer.zero_grad()
            F.cross_entropy(model(data[0][rows]), data[1][rows]).backward()
            optimizer.step()


def _accuracy(call, data):
    right = 0
    for pictures, labels in zip(data[0].split(BATCH), data[1].split(BATCH), strict=True):
        right += int((call(pictures).argmax(1) == labels).sum())
    return right / len(data[1])


def test_a_trained_model_keeps_its_accuracy_with_four_bit_weights_on_the_device(digits):
    train, held_out = digits
    torch.manual_seed(0)
    model = Reader().train()
    _train(model, train, epochs=3, rate=5e-3)
    example = (train[0][:BATCH],)
    exported = torch.export.export(model, example, strict=False).module()
    config = get_symmetric_quantization_config(
        is_per_channel=True, is_qat=True, weight_qmin=-7, weight_qmax=7
    )
    prepared = prepare_qat_pt2e(exported, XNNPACKQuantizer().set_global(config))
    _train(prepared, train, epochs=3, rate=2e-3)
    converted = convert_pt2e(prepared)
    assert not [n for n in converted.graph.nodes if "batch_norm" in str(n.target)]
    run = etlab.export(converted, example, partitioner="xnnpack")
    names = node_names(run.delegated.edge_graph("forward"))
    assert names.count("Convert") == 2
    assert {"Conv2d", "DepthwiseConv2d", "MaxPooling2d", "FullyConnected"} <= set(names)
    after = _accuracy(run.run, held_out)
    with torch.no_grad():
        simulated = _accuracy(converted, held_out)
        in_float = _accuracy(model.eval(), held_out)
    assert simulated > 0.9
    assert simulated > in_float - 0.03
    assert abs(after - simulated) <= 0.01


def test_scaled_back_weights_train_as_the_layer_and_its_norm_would():
    torch.manual_seed(0)
    model = nn.Sequential(nn.ConvTranspose2d(2, 3, 3), nn.BatchNorm2d(3)).train()
    x = torch.linspace(-1, 1, 2 * 2 * 25).reshape(2, 2, 5, 5)
    expected = model(x)
    exported = torch.export.export(model, (x,), strict=False).module()
    config = get_symmetric_quantization_config(
        is_per_channel=True, is_qat=True, weight_qmin=-127, weight_qmax=127
    )
    prepared = prepare_qat_pt2e(exported, XNNPACKQuantizer().set_global(config))
    actual = prepared(x)
    assert (actual - expected).abs().max() < 0.03 * expected.abs().max()
    converted = convert_pt2e(prepared)
    assert (converted(x) - model.eval()(x)).abs().max() < 0.03 * expected.abs().max()
