"""The file of `clustergym eval --marl-eval`, as marl-eval reads it."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest
from marl_eval.utils.data_processing_utils import create_matrices_for_rliable, data_process_pipeline
from marl_eval.utils.diagnose_data_errors import DiagnoseData

from clustergym._child import program

SCENARIOS = ["embedded-small-v1", "loaning-small-v1"]


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    out = tmp_path_factory.mktemp("eval")
    command = ["eval", "-q", "--scenario", ",".join(SCENARIOS), "--policies", "fifo,srtf", "--windows", "2", "--seeds", "2"]
    subprocess.run([program(), *command, "--figures", "none", "--marl-eval", "--out", out], check=True, capture_output=True)
    return json.loads((out / "marl-eval.json").read_text()), [
        json.loads(line) for line in (out / "results.jsonl").read_text().splitlines()
    ]


def test_marl_eval_finds_no_fault(raw):
    found = DiagnoseData(raw[0]).check_data()["clustergym"]
    assert found and all(found.values()), found


def test_marl_eval_makes_the_matrices_of_rliable(raw):
    file, results = raw
    processed = data_process_pipeline(raw_data=file, metrics_to_normalize=[])
    matrices, _ = create_matrices_for_rliable(processed, "clustergym", metrics_to_normalize=[])
    for policy in ("fifo", "sjfskip", "srtf"):
        got = matrices["mean_return"][policy]  # a row for each seed, a column for each scenario
        want = [
            [-np.mean([r["mean_jct_s"] for r in results if (r["seed"], r["scenario"], r["policy"]) == (seed, scenario, policy)])
             for scenario in SCENARIOS]
            for seed in (1, 2)
        ]
        assert got == pytest.approx(np.array(want))
    assert "mean_jct_s" in matrices
