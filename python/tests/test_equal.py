"""Compares observations, masks and rewards with those of the same environment in Go, byte for byte."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import clustergym

ROOT = Path(__file__).resolve().parents[2]
SMALL = {"settings": {"cluster.servers": 4}, "window": 8, "prior": "sjfskip"}
STEPS = 300


def reference(*args: str) -> list[list[dict[str, str]]]:
    if shutil.which("go") is None:
        assert os.environ.get("CI") != "true", "no Go to compare with"
        pytest.skip("no Go to compare with")
    command = ["go", "run", "./python/tests/reference", "-steps", str(STEPS), *args]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def digest(array: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def test_a_vector_shows_what_go_shows():
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=3, autoreset_mode="NextStep", **SMALL).unwrapped
    observations, infos = envs.reset(seed=1)
    ends, over = np.zeros((3, 2), bool), 0
    for t, expected in enumerate(reference("-envs", "3")):
        for i, want in enumerate(expected):
            got = {key: digest(observations[key][i]) for key in ("servers", "jobs", "candidates", "cluster")}
            got["reward"], got["ends"] = digest(infos["reward"][i]), digest(ends[i])
            assert got == {key: want[key] for key in got}, f"environment {i} in step {t}"
        observations, rewards, terminated, truncated, infos = envs.step(t % infos["action_mask"].sum(1))
        assert (rewards == infos["reward"]).all()
        ends = np.stack([terminated, truncated], 1)
        over += ends.sum()
    assert t == STEPS - 1 and over > 1


def test_agents_see_what_go_shows():
    env = clustergym.parallel_env(**SMALL)
    observations, infos = env.reset(seed=1)
    for t, (want,) in enumerate(reference("-joint")):
        each = list(observations.values())
        got = {key: digest(each[0]["observation"][key]) for key in ("jobs", "candidates", "cluster")}
        got["servers"] = digest(np.stack([o["observation"]["server"] for o in each]))
        got["mask"] = digest(np.stack([o["action_mask"] for o in each]))
        got["rewards"] = digest(np.array([infos[agent]["reward"] for agent in env.possible_agents]))
        assert got == {key: want[key] for key in got}, f"step {t}"
        if not env.agents:
            break
        actions = {}
        for i, (agent, o) in enumerate(observations.items()):
            legal = np.flatnonzero(o["action_mask"])
            actions[agent] = int(legal[(t + i) % len(legal)])
        observations, *_, infos = env.step(actions)
    assert t > 50
