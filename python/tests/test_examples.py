"""The examples run, at a small size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("random_player.py", ["--rounds", "20"], "20 rounds, "),
        ("scheduler.py", ["--windows", "1"], "smallest "),
        ("ppo.py", ["--updates", "2", "--envs", "4", "--steps", "16", "--windows", "1"], "ppo "),
    ],
)
def test_example(name, args, says):
    done = subprocess.run([sys.executable, "-W", "error", str(EXAMPLES / name), *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


@pytest.mark.parametrize(
    ("name", "package", "args", "says"),
    [
        ("maskable_ppo.py", "sb3_contrib", ["--steps", "64", "--envs", "4", "--rollout", "16", "--windows", "1"], "maskable_ppo "),
        ("mappo.py", "torchrl", ["--steps", "128", "--envs", "4", "--rollout", "16", "--windows", "1"], "mappo "),
    ],
)
def test_example_with_torch(name, package, args, says):
    pytest.importorskip(package, reason=f"{name} needs {package}, which `make python-test` does not install: torch is large")
    done = subprocess.run([sys.executable, str(EXAMPLES / name), *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert says in done.stdout


def test_examples_are_short():
    assert {p.name: n for p in EXAMPLES.glob("*.py") if (n := len(p.read_text().splitlines())) > 100} == {}
