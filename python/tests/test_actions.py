"""Actions that are none are refused before anything is played, in the user's words."""

from __future__ import annotations

import re

import gymnasium
import numpy as np
import pytest

import clustergym

SMALL = {"settings": {"cluster.servers": 4}, "window": 8, "prior": "sjfskip"}
NONE = [  # what is no action, and what the message says
    (np.nan, "is of the type float64, want a whole number from 0 to 8"),
    (1.0, "is of the type float64"),
    (np.float32(1), "is of the type float32"),
    (True, "is of the type bool"),
    (np.bool_(False), "is of the type bool"),
    (None, "is of the type object"),
    ("1", "is of the type <U1"),
    (-1, "-1 does not exist, want 0 to 8"),
    (9, "9 does not exist, want 0 to 8"),
    (np.uint64(2**63), "does not exist"),
    (2**32, "does not exist"),  # 0 in 32 bits
    (2**70, "does not exist"),
    ([0], "has the shape (1,), want one number"),
    (np.array([0]), "has the shape (1,), want one number, as its method item() returns it"),
    ([0, 0], "has the shape (2,), want one number"),
    ([], "has the shape (0,)"),
]
FINE = [2, np.int64(2), np.int32(2), np.uint8(2), np.array(2)]


@pytest.fixture
def single():
    env = gymnasium.make("clustergym/Cluster-v1", disable_env_checker=True, **SMALL).unwrapped
    yield env
    env.close()


def test_one_action(single):
    single.reset(seed=1)
    for action, says in NONE:
        with pytest.raises(ValueError, match=re.escape(says)):
            single.step(action)
    after = []
    for action in FINE:
        single.reset(seed=1)
        after.append(single.step(action)[0]["servers"].tobytes())
    assert len(set(after)) == 1


def test_what_is_refused_is_not_played(single):
    other = gymnasium.make("clustergym/Cluster-v1", **SMALL).unwrapped
    single.reset(seed=1)
    other.reset(seed=1)
    for _ in range(5):
        with pytest.raises(ValueError, match="does not exist"):
            single.step(99)
        a, b = single.step(1), other.step(1)
        assert a[1] == b[1] and all((a[0][key] == b[0][key]).all() for key in a[0])
    other.close()


def test_actions_of_a_vector():
    envs = clustergym.ClusterVectorEnv(3, **SMALL)
    envs.reset(seed=1)
    for actions, says in [
        (0, "have the shape (), want (3,): one for each environment"),
        (np.array([0]), "actions array([0]) have the shape (1,), want (3,)"),
        (np.zeros((1, 3), int), "have the shape (1, 3)"),
        (np.zeros((3, 1), int), "have the shape (3, 1)"),
        ([0, 0], "have the shape (2,)"),
        ([], "have the shape (0,)"),
        ([[0], [0, 0], 0], "environment 0: [0] has the shape (1,)"),
        (None, "have the shape ()"),
        ({"a": 1}, "have the shape ()"),
        (np.zeros(3), "environment 0: np.float64(0.0) is of the type float64"),
        (np.array([np.nan, 0, 0]), "environment 0: np.float64(nan) is of the type float64, want a whole number from 0 to 8"),
        ([0, 1.7, 0], "is of the type float64"),
        ([0, None, 0], "environment 1: None is of the type object"),
        (np.ones(3, bool), "is of the type bool"),
        (["0", "1", "2"], "is of the type <U1"),
        ([0, 0, 9], "environment 2: 9 does not exist, want 0 to 8"),
        ([0, -1, 0], "environment 1: -1 does not exist"),
        (np.array([2**32, 0, 0]), "environment 0: 4294967296 does not exist"),
        ([0, 2**70, 0], "environment 1: 1180591620717411303424 does not exist"),
    ]:
        with pytest.raises(ValueError, match=re.escape(says)):
            envs.step(actions)
    rewards = []
    for actions in ([1, 0, 2], (1, 0, 2), np.array([1, 0, 2], np.uint8), np.array([1, 0, 2]), [np.int64(1), np.array(0), 2]):
        envs.reset(seed=1)
        envs.step(actions)
        rewards.append(envs.step(actions)[1].tolist())
    assert all(r == rewards[0] for r in rewards)
    envs.close()


def test_actions_of_agents():
    env = clustergym.parallel_env(**SMALL)
    env.reset(seed=1)
    for action, says in NONE:
        with pytest.raises(ValueError, match=r"action of server_2: .*" + re.escape(says)):
            env.step({"server_1": 0, "server_2": action})
    for actions, says in [
        ([0, 0, 0, 0], "actions [0, 0, 0, 0] are no dictionary"),
        (0, "are no dictionary"),
        (None, "are no dictionary"),
        ({"server_4": 0}, "there is no agent 'server_4', want server_0 to server_3"),
        ({"server_0": 0, 1: 0}, "there is no agent 1"),
    ]:
        with pytest.raises(ValueError, match=re.escape(says)):
            env.step(actions)
    after = []
    for action in FINE:
        env.reset(seed=1)
        after.append(env.step({"server_0": action, "server_3": 0})[0]["server_0"]["observation"]["jobs"].tobytes())
    assert len(set(after)) == 1
    env.close()
