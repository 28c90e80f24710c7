"""Measures rounds per CPU second in Python, of both processes together, beside the same rounds in Go alone.

Both play what the prior chooses, so that the work of a learner is not measured, and what they need to start is not. The two are
measured in turns, several times; the table shows medians. Needs Linux, where one process can read the CPU time of another.
"""

from __future__ import annotations

import argparse
import os
import statistics
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium

import clustergym

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"settings": {"cluster.servers": 4}, "window": 8, "prior": "sjfskip"}
ECHO = struct.pack("<II", 5, 0)


def used(envs: Any) -> float:
    """Returns the CPU time of this process and of the child until now, in seconds."""
    child = envs.unwrapped._child._process.pid
    return time.process_time() + time.clock_gettime((~child << 3) | 2)  # what clock_getcpuclockid(3) returns for a process


def vector(count: int, steps: int) -> float:
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=count, workers=1, **SMALL)
    _, infos = envs.reset(seed=1)
    before = used(envs)
    for _ in range(steps):
        *_, infos = envs.step(infos["prior"])
    taken = used(envs) - before
    envs.close()
    return taken


def controller(_: int, steps: int) -> float:
    env = gymnasium.make("clustergym/Cluster-v1", **SMALL)
    _, info = env.reset(seed=1)
    before, over = used(env), False
    for _ in range(steps):
        if over:
            over, (_, info) = False, env.reset()
        else:
            _, _, terminated, truncated, info = env.step(info["prior"])
            over = terminated or truncated
    taken = used(env) - before
    env.close()
    return taken


def team(_: int, steps: int) -> float:
    env = clustergym.parallel_env(**SMALL)
    _, infos = env.reset(seed=1)
    before = used(env)
    for _ in range(steps):
        if env.agents:
            *_, infos = env.step(env.unanimous(infos["server_0"]["prior"]))
        else:
            _, infos = env.reset()
    taken = used(env) - before
    env.close()
    return taken


def nothing(_: int, steps: int) -> float:
    """Sends requests that do nothing: what a request and its reply take at least, whatever is played."""
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=1, workers=1, **SMALL)
    write, read = envs.unwrapped._child._write, envs.unwrapped._child._read
    before = used(envs)
    for _ in range(steps):
        write(ECHO)
        read(16)
    taken = used(envs) - before
    envs.close()
    return taken


def in_go(program: str, count: int, steps: int) -> float:
    command = [program, "-quiet", "-prior", "-envs", str(count), "-steps", str(steps)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


flags = argparse.ArgumentParser(description=__doc__)
flags.add_argument("--rounds", type=int, default=100_000)
flags.add_argument("--times", type=int, default=5)
args = flags.parse_args()
with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "reference")
    subprocess.run(["go", "build", "-o", program, "./python/tests/reference"], cwd=ROOT, check=True)
    print("| environment | rounds a CPU second | in Go | part of Go |\n|---|---|---|---|")
    for name, play, count in (
        ("`make_vec`, 16 environments", vector, 16),
        ("`make_vec`, 1 environment", vector, 1),
        ("`make`", controller, 1),
        ("`parallel_env`", team, 1),
        ("requests that do nothing", nothing, 1),
    ):
        steps, rates = args.rounds // count, []
        for _ in range(args.times):
            python, go = play(count, steps), in_go(program, count, steps)
            rates.append((args.rounds / python, args.rounds / go, 100 * go / python))
        here, there, part = (statistics.median(column) for column in zip(*rates, strict=True))
        print(f"| {name} | {here:,.0f} | {there:,.0f} | {part:.0f} % |", flush=True)
