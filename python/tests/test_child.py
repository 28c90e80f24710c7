"""Processes: that a child ends with its parent, that nothing is left of either, and that errors are clear."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import gymnasium
import pytest

import clustergym
from clustergym import _child

CYCLES = int(os.environ.get("CLUSTERGYM_CYCLES", "100"))
SMALL = {"settings": {"cluster.servers": 4}, "window": 8, "prior": "sjfskip"}


def pid(env) -> int:
    return env.unwrapped._child._process.pid


def gone(process: int, seconds: float = 30) -> bool:
    """Waits for a process to end."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with open(f"/proc/{process}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except FileNotFoundError:
            return True
        time.sleep(0.01)
    return False


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


proc = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="looks at processes in /proc")


@proc
def test_close_and_collection_end_the_child():
    gc.collect()
    before = descriptors()
    env = clustergym.parallel_env(**SMALL)
    env.reset(seed=1)
    process = pid(env)
    env.close()
    env.close()
    assert gone(process)
    with pytest.raises(clustergym.ClusterGymError, match="closed"):
        env.reset()
    env = clustergym.parallel_env(**SMALL)
    process = pid(env)
    del env
    gc.collect()
    assert gone(process)
    assert descriptors() == before


@proc
@pytest.mark.parametrize(("by", "says"), [(signal.SIGKILL, "signal 9"), (signal.SIGTERM, "exit code 0")])
def test_a_child_that_is_killed(by, says):
    env = gymnasium.make("clustergym/Cluster-v1", **SMALL)
    env.reset(seed=1)
    assert "memfd:clustergym" in Path("/proc/self/maps").read_text()
    os.kill(pid(env), by)
    assert by == signal.SIGKILL or gone(pid(env))
    with pytest.raises(clustergym.ClusterGymError, match=f"the child ended .{says}"):
        env.step(0)
    with pytest.raises(clustergym.ClusterGymError, match="closed"):
        env.step(0)


PARENT = textwrap.dedent("""
    import os, sys, time
    import clustergym
    env = clustergym.parallel_env(settings={"cluster.servers": 4}, window=8, prior="sjfskip")
    env.reset(seed=1)
    if sys.argv[1] == "fork" and os.fork() == 0:
        time.sleep(60)  # holds what it inherited
    print(env._child._process.pid, flush=True)
    while True:
        env.reset()
        while env.agents:
            env.step({})
""")


@proc
@pytest.mark.parametrize("how", ["alone", "fork"])
def test_a_parent_that_is_killed(how):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, how], stdout=subprocess.PIPE, start_new_session=True)
    try:
        child = int(parent.stdout.readline())
        assert not gone(child, 0.2)
        parent.kill()
        parent.wait()
        assert gone(child), "the child outlives its parent"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(parent.pid, signal.SIGKILL)  # also what it forked
        parent.stdout.close()


@proc
def test_cycles_leave_nothing():
    """Spawns, forks and kills by turns; neither processes nor descriptors are left."""
    gc.collect()
    before, children = descriptors(), []
    for cycle in range(CYCLES):
        env = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=1 + cycle % 2, **SMALL)
        children.append(pid(env))
        infos = env.reset(seed=cycle)[1]
        env.step(infos["prior"])
        if cycle % 4 == 1:
            os.kill(children[-1], signal.SIGKILL)
        if cycle % 4 == 2:
            forked = os.fork()
            if forked == 0:
                os._exit(0)
            os.waitpid(forked, 0)
            env.step(infos["prior"])
        if cycle % 4 != 3:
            env.close()
        del env, infos
    gc.collect()
    assert all(gone(c) for c in children)
    assert descriptors() == before
    assert "memfd:clustergym" not in Path("/proc/self/maps").read_text()


def use(env, answers):
    try:
        env.step({})
        answers.put("played")
    except clustergym.ClusterGymError as e:
        answers.put(str(e))


@proc
def test_a_fork_cannot_use_the_environment():
    env = clustergym.parallel_env(**SMALL)
    env.reset(seed=1)
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    other = context.Process(target=use, args=(env, answers))
    other.start()
    other.join(60)
    assert other.exitcode == 0
    assert f"was made in process {os.getpid()}" in answers.get()
    env.step({})  # the parent goes on


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("method", ["_write", "_read"])
def test_an_interrupt_leaves_the_environment_usable(method, before):
    """Interrupts a step before or after it writes its request or reads the reply."""
    env, other = (gymnasium.make("clustergym/Cluster-v1", **SMALL).unwrapped for _ in range(2))
    env.reset(seed=1)
    child = env._child
    real = getattr(child, method)

    def interrupted(argument):
        setattr(child, method, real)
        if not before:
            real(argument)
        raise KeyboardInterrupt

    setattr(child, method, interrupted)
    with pytest.raises(KeyboardInterrupt):
        env.step(0)
    first, _ = env.reset(seed=4)
    same, _ = other.reset(seed=4)
    assert all((first[key] == same[key]).all() for key in first)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"scenario": "no-such-scenario"}, "no-such-scenario"),
        ({"prior": "no-such-prior"}, "--prior: "),
        ({"settings": {"cluster.servers": "many"}}, "cluster.servers"),
        ({"window": 0}, "--window 0: want at least 1"),
        ({"split": "tomorrow"}, "--split"),
    ],
)
def test_what_is_not_understood_is_told(options, says):
    with pytest.raises(clustergym.ClusterGymError, match=says):
        clustergym.parallel_env(**options)


def test_another_protocol_is_refused(monkeypatch):
    monkeypatch.setattr(_child, "PROTOCOL", 99)
    with pytest.raises(clustergym.ClusterGymError, match="the parent speaks protocol 99, clustergym .* speaks 3"):
        clustergym.parallel_env(**SMALL)


def test_a_missing_program_is_told(monkeypatch):
    monkeypatch.setenv("CLUSTERGYM_PROGRAM", "/nowhere/clustergym")
    with pytest.raises(clustergym.ClusterGymError, match="/nowhere/clustergym is no program"):
        clustergym.parallel_env(**SMALL)
