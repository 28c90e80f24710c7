"""What training and export write is opened by the programs that it is written for: TensorBoard, and ONNX's checker."""

from __future__ import annotations

import json

import onnx
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from clustergym.results import run

# Some keys of metrics.jsonl, and the names under which TensorBoard shows them.
TAGS = {
    "choices": "train/choices",
    "departs": "train/departs",
    "relative_jct": "train/relative_jct",
    "agree": "update/agree",
    "entropy": "update/entropy",
    "grad_norm": "update/grad_norm",
    "validation": "validation/relative_jct",
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Returns the folder of a run of two updates: one learns from labels, the other from draws."""
    folder = tmp_path_factory.mktemp("runs") / "first"
    settings = ["--set", "train.expert=1", "--set", "train.windows=2", "--set", "scenario.cluster.servers=4"]
    run("train", "--scenario", "embedded-small-v1", "--updates", "2", "--dir", str(folder), *settings)
    return folder


def test_tensorboard_reads_a_run(trained):
    written = [json.loads(line) for line in (trained / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in written] == [1, 2]
    events = EventAccumulator(str(trained)).Reload()
    for key, tag in TAGS.items():
        expected = [(line["update"], pytest.approx(line[key])) for line in written if key in line]
        assert expected and [(e.step, e.value) for e in events.Scalars(tag)] == expected, tag
    assert events.Histograms("weights/bid")[-1].histogram_value.num > 0


def test_onnx_accepts_a_policy(trained, tmp_path):
    run("export", "--run", str(trained), "--out", str(tmp_path / "policy"))
    model = onnx.load(tmp_path / "policy" / "policy.onnx")
    onnx.checker.check_model(model, full_check=True)  # a full check infers all shapes and types, too
    manifest = json.loads((tmp_path / "policy" / "manifest.json").read_text())
    shapes = {t["name"]: t["shape"] for t in manifest["tensors"]}
    columns = {i.name: i.type.tensor_type.shape.dim[-1].dim_value for i in model.graph.input}
    assert [columns[of] for of in ("server", "job")] == [shapes[of + ".w"][0] for of in ("server", "job")]
    assert [o.name for o in model.graph.output] == ["bids"]
