"""Copies and pickles of environments: children of their own in the same state, which then go their own ways."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
import signal

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import clustergym

SMALL = {"settings": {"cluster.servers": 4, "window.arrivals": 40}, "window": 8, "prior": "sjfskip"}
WAYS = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), copy.copy]


def equal(a, b) -> bool:
    """Says whether two nested observations, rewards or infos are equal."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, np.ndarray) and a.dtype == object:
        return equal(a.tolist(), b.tolist())
    return np.array_equal(a, b)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", [None, 0, 40])
def test_a_controller(way, before):
    env = clustergym.ClusterEnv(render_mode="ansi", **SMALL)
    env.mine = {"of": "the user"}
    if before is not None:
        env.reset(seed=3)
        for t in range(before):
            env.step(t % 9)
    other = way(env)
    assert other.mine == {"of": "the user"} and other._child._process.pid != env._child._process.pid
    if before is None:
        assert equal(env.reset(seed=3), other.reset(seed=3))
    elif before:
        assert env.render() == other.render() and env.metrics() == other.metrics()
    assert (env.action_masks() == other.action_masks()).all()
    ends = 0
    for t in range(300):
        got = env.step(t * 7 % 9)
        assert equal(got, other.step(t * 7 % 9)), f"step {t} differs"
        if got[2]:
            ends += 1
            assert equal(env.reset(), other.reset())  # seeds that the generators draw
    assert ends > 0
    other.close()
    env.step(0)  # lives on
    env.close()


def test_a_wrapped_controller():
    env = gymnasium.make("clustergym/Cluster-v1", **SMALL)
    env.reset(seed=3)
    env.step(1)
    other = copy.deepcopy(env)
    assert other.spec == env.spec and equal(env.step(2), other.step(2))
    env.close()
    other.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("before", [None, 0, 40])
def test_a_team(way, before):
    env = clustergym.parallel_env(**SMALL)
    if before is not None:
        env.reset(seed=3)
        for t in range(before):
            env.step({agent: (t + i) % 9 for i, agent in enumerate(env.agents)})
    other = way(env)
    assert other.agents == env.agents and other._child is not env._child
    if before is None:
        env.reset(seed=3)
        other.reset(seed=3)
    assert equal(env.state(), other.state()) and equal(env.unanimous(1), other.unanimous(1))
    ends = 0
    for t in range(300):
        if not env.agents:
            ends += 1
            assert not other.agents and env.metrics() == other.metrics() and equal(env.reset(), other.reset())
        actions = {agent: (t * 5 + i) % 9 for i, agent in enumerate(env.agents)}
        assert equal(env.step(actions), other.step(actions)), f"step {t} differs"
    assert ends > 0
    env.close()
    other.step({})  # lives on
    other.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_a_vector(way, mode):
    envs = clustergym.ClusterVectorEnv(3, autoreset_mode=mode, **SMALL)
    envs.reset(seed=3)
    steps = 12 if mode is AutoresetMode.DISABLED else 300
    ends = sum(envs.step((np.arange(3) + t) % 9)[2].sum() for t in range(steps))
    assert mode is AutoresetMode.DISABLED or ends > 1  # of episodes before the copy
    other = way(envs)
    assert other.metadata["autoreset_mode"] is mode and (other.action_masks() == envs.action_masks()).all()
    for t in range(12 if mode is AutoresetMode.DISABLED else 300):
        actions = (np.arange(3) + t * 5) % 9
        assert equal(envs.step(actions), other.step(actions)), f"step {t} differs"
    assert equal(envs.reset()[0], other.reset()[0])  # seeds that the generators draw
    envs.close()
    other.close()


def test_copies_go_their_own_ways():
    env = clustergym.ClusterEnv(**SMALL)
    env.reset(seed=1)
    env.step(1)
    other, third = copy.deepcopy(env), copy.deepcopy(env)
    for _ in range(10):
        other.step(0)
    assert equal(env.step(1), third.step(1))
    for e in (env, other, third):
        e.close()


def test_copies_of_what_was_never_reset_draw_other_episodes():
    for env in (clustergym.parallel_env(**SMALL), clustergym.ClusterEnv(**SMALL)):
        copies = [copy.deepcopy(env) for _ in range(2)]
        now = [e.reset()[0] for e in copies]
        assert not equal(*now)
        for e in [env, *copies]:
            e.close()


def play(pickled: bytes, answers) -> None:
    env = pickle.loads(pickled)
    answers.put([env.step(t % 9)[1] for t in range(20)])
    env.close()


@pytest.mark.parametrize("start", ["spawn", "fork"])
def test_another_process_goes_on(start):
    if start not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {start} on this system")
    env = clustergym.ClusterEnv(**SMALL)
    env.reset(seed=3)
    for t in range(30):
        env.step(t % 9)
    context = multiprocessing.get_context(start)
    answers = context.SimpleQueue()
    other = context.Process(target=play, args=(pickle.dumps(env), answers))
    other.start()
    got = answers.get()
    other.join(60)
    assert other.exitcode == 0 and got == [env.step(t % 9)[1] for t in range(20)]
    env.close()


def test_what_cannot_be_copied():
    env = clustergym.ClusterEnv(**SMALL)
    env.reset(seed=1)
    os.kill(env._child._process.pid, signal.SIGKILL)
    with pytest.raises(clustergym.ClusterGymError, match="the child ended .signal 9"):
        pickle.dumps(env)
    with pytest.raises(clustergym.ClusterGymError, match="this environment is closed"):
        copy.deepcopy(env)


def test_supersuit_makes_a_vector_of_teams():
    supersuit = pytest.importorskip("supersuit", reason="SuperSuit is not installed: pip install supersuit")
    env = supersuit.pettingzoo_env_to_vec_env_v1(clustergym.parallel_env(**SMALL))
    envs = supersuit.concat_vec_envs_v1(env, 2, num_cpus=0, base_class="gymnasium")
    assert envs.num_envs == 8
    observations, _ = envs.reset(seed=1)
    assert observations["action_mask"].shape == (8, 9) and not (observations["action_mask"][0] == 0).all()
    ends = 0
    for _ in range(200):
        observations, rewards, terminated, truncated, _ = envs.step(observations["action_mask"].argmax(1))
        assert rewards.shape == (8,) and observations["observation"]["jobs"].shape[0] == 8
        ends += terminated.sum() + truncated.sum()
    assert ends > 0
    envs.close()
    env.close()
