"""The contracts of PettingZoo and Gymnasium, and what this project promises beyond them."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from pettingzoo.test import parallel_api_test, parallel_seed_test

import clustergym

SMALL = {"settings": {"cluster.servers": 4}, "window": 8, "prior": "sjfskip"}


@pytest.mark.parametrize("options", [{}, SMALL, {**SMALL, "candidates": 20, "rivals": ["srtf"], "agree": "lead"}])
def test_pettingzoo(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parallel_api_test(clustergym.parallel_env(**options), num_cycles=300)
        parallel_seed_test(lambda: clustergym.parallel_env(**options), num_cycles=100)


@pytest.mark.parametrize("render_mode", [None, "ansi", "rgb_array"])
def test_gymnasium(render_mode):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gymnasium.make("clustergym/Cluster-v1", render_mode=render_mode, **SMALL)
        check_env(env.unwrapped)
        env.close()


def test_observations_are_in_their_spaces():
    env = clustergym.parallel_env(**SMALL)
    observations, infos = env.reset(seed=3)
    draw = np.random.default_rng(3)
    while env.agents:
        for agent, o in observations.items():
            assert o in env.observation_space(agent)
            assert (o["action_mask"] == infos[agent]["action_mask"]).all()
            # An agent may name the candidates in which it takes part, and 0.
            assert ((o["observation"]["weights"] > 0) <= (o["action_mask"] == 1)).all()
        assert env.state() in env.state_space
        actions = {a: int(draw.choice(np.flatnonzero(o["action_mask"]))) for a, o in observations.items()}
        observations, rewards, _, _, infos = env.step(actions)
        assert all(infos[a]["illegal"] == 0 for a in observations)
        assert len(set(rewards.values())) == 1


def test_unanimous_actions_are_carried_out():
    env = clustergym.parallel_env(**SMALL)
    env.reset(seed=3)
    for _ in range(20):
        number = int(env._child.arrays["legal"][env._slot, 0].nonzero()[0][-1])
        *_, infos = env.step(env.unanimous(number))
        assert infos["server_0"]["taken"].nonzero()[0].tolist() == [number]


def test_forbidden_numbers_pass():
    env, other = (gymnasium.make("clustergym/Cluster-v1", **SMALL).unwrapped for _ in range(2))
    _, info = env.reset(seed=1)
    other.reset(seed=1)
    for _ in range(20):
        assert (env.action_masks() == info["action_mask"]).all() and env.action_masks().dtype == bool
        forbidden = int(np.flatnonzero(info["action_mask"] == 0)[0])
        observation, reward, *_, info = env.step(forbidden)
        passed, same, *_, told = other.step(0)
        assert info["illegal"] == 1 and told["illegal"] == 0 and reward == same
        assert all((observation[key] == passed[key]).all() for key in observation)


def jct_hours(env) -> float:
    """Returns the sum of the completion times of the episode's jobs."""
    metrics = env.metrics()
    return metrics["mean_jct_s"] * metrics["finished"] / 3600


def test_rewards_of_steps_add_up_to_completion_times():
    # The reward flow sums to minus the sum of completion times in hours, with those of the time before the first step.
    env = clustergym.parallel_env(**SMALL)
    _, infos = env.reset(seed=5)
    assert all(info["reward"] == 0 and info["elapsed"] == 0 for info in infos.values()) and infos["server_0"]["now"] > 0
    total, elapsed = 0.0, 0.0
    while env.agents:
        _, rewards, _, _, infos = env.step(env.unanimous(infos["server_0"]["prior"]))
        total, elapsed = total + rewards["server_0"], elapsed + infos["server_0"]["elapsed"]
    assert elapsed == pytest.approx(infos["server_0"]["now"])
    assert total == pytest.approx(-jct_hours(env)) and total < 0


def test_gymnasium_counts_the_whole_return():
    env = gymnasium.wrappers.RecordEpisodeStatistics(gymnasium.make("clustergym/Cluster-v1", **SMALL))
    _, info = env.reset(seed=5)
    over = False
    while not over:
        _, reward, terminated, truncated, info = env.step(info["prior"])
        assert reward == info["reward"]
        over = terminated or truncated
    assert info["episode"]["r"] == pytest.approx(-jct_hours(env.unwrapped))


def test_vectors_count_the_whole_return():
    """Plays three episodes in each mode, of which the vector begins the later ones by itself."""
    returns = {}
    for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
        envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=2, autoreset_mode=mode, **SMALL)
        envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs)
        _, infos = envs.reset(seed=[5, 5])
        returns[mode] = []
        while len(returns[mode]) < 3:
            *_, infos = envs.step(infos["prior"].copy())
            if "episode" in infos:
                one, other = infos["episode"]["r"]
                assert one == other
                returns[mode].append(one)
                if mode is AutoresetMode.NEXT_STEP:  # the episode that ended is still there
                    metrics = envs.unwrapped._child.picture()["metrics"]
                    assert one == pytest.approx(-metrics["mean_jct_s"] * metrics["finished"] / 3600)
        envs.close()
    assert returns[AutoresetMode.NEXT_STEP] == returns[AutoresetMode.SAME_STEP]


def test_two_pictures():
    env = clustergym.parallel_env(render_mode="rgb_array", **SMALL)
    _, infos = env.reset(seed=5)
    for _ in range(30):
        *_, infos = env.step(env.unanimous(infos["server_0"]["prior"]))
    image = env.render()
    assert image.shape == (320, 640, 3) and image.dtype == np.uint8 and len(np.unique(image.reshape(-1, 3), axis=0)) > 5
    env.render_mode = "ansi"
    assert "GPU" in env.render()


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_vectors_are_their_environments(mode):
    """Compares a vector with single environments, in each mode, over several episodes."""
    count = 3
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=count, autoreset_mode=mode, copy=True, **SMALL)
    assert envs.metadata["autoreset_mode"] is mode
    singles = [gymnasium.make("clustergym/Cluster-v1", **SMALL).unwrapped for _ in range(count)]
    observations, infos = envs.reset(seed=7)
    expected = [e.reset(seed=7 + i) for i, e in enumerate(singles)]
    over, ends = np.zeros(count, bool), np.zeros(count, int)
    while ends.min() < 1:
        for i, (o, info) in enumerate(expected):
            if o is not None:
                assert all((observations[key][i] == o[key]).all() for key in o)
                assert (infos["action_mask"][i] == info["action_mask"]).all()
        actions = np.array([np.flatnonzero(m)[-1] for m in infos["action_mask"]])
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(clustergym.ClusterGymError, match="no episode in progress"):
                envs.step(actions)
            observations, infos = envs.reset(seed=[100] * count, options={"reset_mask": over})
            for i in np.flatnonzero(over):
                expected[i] = singles[i].reset(seed=100)
            over[:] = False
            continue
        reset_now = over if mode is AutoresetMode.NEXT_STEP else np.zeros(count, bool)
        observations, rewards, terminated, truncated, infos = envs.step(actions)
        over = terminated | truncated
        for i, e in enumerate(singles):
            if reset_now[i]:
                assert rewards[i] == infos["reward"][i] and not over[i]
                expected[i] = (None, None)  # an episode whose seed only the child knows
                ends[i] += 1
                continue
            if expected[i][0] is None:
                continue
            o, reward, term, trunc, info = e.step(int(actions[i]))
            assert (rewards[i], terminated[i], truncated[i]) == (reward, term, trunc)
            expected[i] = (o, info)
            if mode is AutoresetMode.SAME_STEP and over[i]:
                last = infos["final_obs"][i]
                assert infos["_final_obs"][i] and all((last[key] == o[key]).all() for key in o)
                assert infos["final_info"]["now"][i] == info["now"]
                expected[i] = (None, None)
            ends[i] += mode is not AutoresetMode.NEXT_STEP and over[i]
    assert len(np.unique(infos["now"])) > 1
    envs.close()


def test_vectors_copy_no_observations():
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=4, **SMALL)
    observations, infos = envs.reset(seed=1)
    child = envs.unwrapped._child
    assert all(
        np.shares_memory(observations[key], child.arrays[name]) for key, name in (("servers", "servers"), ("jobs", "jobs"))
    )
    kept = {key: a.copy() for key, a in observations.items()}
    _, *_, infos = envs.step(infos["prior"])
    assert all((observations[key] == a).all() for key, a in kept.items()), "a step overwrites what the step before returned"
    envs.step(infos["prior"])
    assert not all((observations[key] == a).all() for key, a in kept.items())
    envs.close()
    assert np.isfinite(observations["servers"]).all()  # the memory lives as long as its views


def test_seeds():
    env = gymnasium.make("clustergym/Cluster-v1", **SMALL).unwrapped
    first = [env.reset(seed=11)[0], env.reset()[0], env.reset()[0]]
    again = [env.reset(seed=11)[0], env.reset()[0], env.reset()[0]]
    assert all((a[key] == b[key]).all() for a, b in zip(first, again, strict=True) for key in a)
    assert not (first[1]["jobs"] == first[2]["jobs"]).all()


def test_an_episode_without_a_choice():
    env = gymnasium.make("clustergym/Cluster-v1", settings={"window.arrivals": 1, "workload.load": 0.1}, prior="fifo").unwrapped
    observation, info = env.reset(seed=1)
    assert info["action_mask"].sum() == 1
    last, reward, terminated, truncated, _ = env.step(0)
    assert (
        terminated
        and not truncated
        and reward == pytest.approx(-jct_hours(env))
        and info["reward"] == 0
        and all((last[key] == observation[key]).all() for key in last)
    )
    with pytest.raises(clustergym.ClusterGymError, match="no episode in progress"):
        env.step(0)
