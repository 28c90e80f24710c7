"""Measures rounds per CPU second of a vector in Python, of both processes together, beside the same rounds in Go alone."""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
from pathlib import Path

import gymnasium

import clustergym  # noqa: F401 registers the environment

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"settings": {"cluster.servers": 4}, "window": 8, "prior": "sjfskip"}


def used(who: int) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def in_python(count: int, steps: int) -> float:
    """Returns the CPU time of the steps and of the child's whole life."""
    before = used(resource.RUSAGE_CHILDREN)
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=count, workers=1, **SMALL)
    _, infos = envs.reset(seed=1)
    own = used(resource.RUSAGE_SELF)
    for t in range(steps):
        *_, infos = envs.step(t % infos["action_mask"].sum(1))
    own = used(resource.RUSAGE_SELF) - own
    envs.close()
    return own + used(resource.RUSAGE_CHILDREN) - before


def in_go(program: str, count: int, steps: int) -> float:
    before = used(resource.RUSAGE_CHILDREN)
    subprocess.run([program, "-quiet", "-envs", str(count), "-steps", str(steps)], check=True)
    return used(resource.RUSAGE_CHILDREN) - before


flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--rounds", type=int, default=100_000)
flags.add_argument("--times", type=int, default=5)
args = flags.parse_args()
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "reference")
    subprocess.run(["go", "build", "-o", program, "./python/tests/reference"], cwd=ROOT, check=True)
    for count in (1, 16):
        for _ in range(args.times):
            # What both need to start is measured with one step, and left out.
            steps = args.rounds // count
            python = in_python(count, steps) - in_python(count, 1)
            go = in_go(program, count, steps) - in_go(program, count, 1)
            here, there = args.rounds / python, args.rounds / go
            print(f"{count:2} environments: {here:6.0f} rounds a CPU second, {there:6.0f} in Go: {100 * here / there:.0f} %")
