"""Options that are none are refused in the user's words; so are calls before an episode. Lists, version and command are there."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas
import pytest

import clustergym

S = "embedded-small-v1"
MAKERS = [clustergym.ClusterEnv, clustergym.parallel_env, lambda *a, **o: clustergym.ClusterVectorEnv(1, *a, **o)]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"servers": 4}, 'there is no option servers: settings of the scenario are given by key, such as settings={"cluster.servers": 4}; .* case_seed'),
        ({"reward": lambda *_: 0.0}, r"reward is <function .* \(function\), want a name: rewards are written in Go"),
        ({"encoder": print}, "encoder is .*, want a name: encoders are written in Go"),
        ({"prior": ["sjfskip"]}, r"prior is \['sjfskip'\] \(list\), want a name"),
        ({"window": 8.5}, r"window is 8.5 \(float\), want a whole number"),
        ({"window": "8"}, r"window is '8' \(str\), want a whole number"),
        ({"candidates": True}, r"candidates is True \(bool\), want a whole number"),
        ({"rivals": "las"}, r"rivals is 'las' \(str\), want a list of names, such as \[\"srtf\"\]"),
        ({"rivals": [1]}, r"rivals is \[1\] \(list\), want a list of names"),
        ({"settings": [("cluster.servers", 4)]}, "settings is .*, want a dictionary"),
        ({"settings": {1: 4}}, r"settings has the key 1 \(int\)"),
        ({"settings": {"cluster.servers": object()}}, r"settings\['cluster.servers'\] is <object .*, want a text"),
        ({"settings": {"workload.load": float("nan")}}, r"settings\['workload.load'\] is nan \(float\), want .* a finite number"),
    ],
)
def test_options_that_are_none(make, options, says):
    with pytest.raises(TypeError, match=says):
        make(S, **options)


@pytest.mark.parametrize("make", MAKERS)
def test_other_arguments_that_are_none(make):
    with pytest.raises(TypeError, match=r"scenario is 3 \(int\), want the name of a scenario or the path of a YAML file"):
        make(3)
    with pytest.raises(ValueError, match="render_mode is 'human', want None or one of ansi, rgb_array"):
        make(S, render_mode="human")


def test_an_objective_is_the_reward():
    mine = {"name": "mine", "unit": "min", "terms": [{"cost": "completion", "price": "1/min", "jobs": {"gpus": "1-"}}]}
    rewards = []
    for objective in ("completion", mine):
        env = clustergym.parallel_env(S, settings={"workload.jobs": 20000}, objective=objective)
        env.reset(seed=1)
        total = 0.0
        while env.agents:
            total += sum(env.step({agent: 0 for agent in env.agents})[1].values())
        rewards.append(total)
        env.close()
    assert rewards[0] < 0
    assert rewards[1] == pytest.approx(60 * rewards[0])
    with pytest.raises(clustergym.ClusterGymError, match='cost "speed", want completion, wait, late'):
        clustergym.ClusterEnv(S, objective={"name": "x", "terms": [{"cost": "speed", "price": 1}]})


def test_an_objective_shows_what_jobs_cost():
    plain = clustergym.parallel_env(S, settings={"workload.jobs": 20000})
    env = clustergym.parallel_env(S, settings={"workload.jobs": 20000}, objective="small-first")
    names = {of: [f["name"] for f in env.features[of]] for of in env.features}
    more = {of: names[of][len(plain.features[of]) :] for of in names}
    assert len(more["job"]) == 11 and len(more["cluster"]) == 3 and not more["server"] and not more["candidate"]
    assert more["job"][0] == "wait_cost" and more["cluster"][0] == "gpu_price"
    observations, _ = env.reset(seed=1)
    for agent in env.agents:
        assert env.observation_space(agent).contains(observations[agent])
    assert observations[env.agents[0]]["observation"]["jobs"].shape[1] == len(names["job"])
    plain.close()
    env.close()


def test_numbers_of_environments():
    with pytest.raises(TypeError, match=r"num_envs is 2.0 \(float\), want a whole number"):
        clustergym.ClusterVectorEnv(2.0, S)
    with pytest.raises(TypeError, match=r"workers is None \(NoneType\), want a whole number"):
        clustergym.ClusterVectorEnv(2, S, workers=None)


def test_numbers_of_numpy_are_numbers():
    settings = {"cluster.servers": np.int64(4), "workload.load": np.float32(1.5), "window.train": np.array([0, 0.5])}
    env = clustergym.ClusterEnv(S, settings=settings, window=np.int32(8), rivals=())
    assert env.observation_space["servers"].shape[0] == 4 and env.observation_space["jobs"].shape[0] == 8
    env.close()


@pytest.mark.parametrize("make", MAKERS)
def test_calls_before_an_episode(make):
    env = make(S, render_mode="ansi")
    calls = [env.render] + ([env.metrics] if hasattr(env, "metrics") else [])
    for call in calls:
        with pytest.raises(clustergym.ClusterGymError, match="^no episode has begun: call reset first$"):
            call()
    env.close()


def test_simulate_wants_a_path():
    with pytest.raises(TypeError, match="trace is a DataFrame, want the path of a CSV file .*to_csv"):
        clustergym.simulate(pandas.DataFrame({"job_id": [1]}), 1, 1, "fifo")


def test_lists():
    scenarios, policies = clustergym.scenarios(), clustergym.policies()
    assert S in scenarios and "64 GPUs" in scenarios[S] and len(scenarios) > 10
    assert "submission order" in policies["fifo"] and {"srtf", "las", "sjfskip"} <= policies.keys()
    clustergym.ClusterEnv(S, prior=next(iter(policies))).close()


def test_version_and_command():
    said = subprocess.run([Path(sys.executable).with_name("clustergym"), "--version"], check=True, capture_output=True, text=True)
    commit = clustergym.__version__.split("+")[-1]
    assert said.stdout.startswith("clustergym ") and clustergym.__version__[0].isdigit()
    assert commit.split(".")[0].removeprefix("g") in said.stdout.replace("-", ".")
    wrong = subprocess.run([Path(sys.executable).with_name("clustergym"), "no-such"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "no-such" in wrong.stderr


def test_a_command_without_a_program(tmp_path):
    wrong = subprocess.run(
        [Path(sys.executable).with_name("clustergym"), "--version"],
        capture_output=True,
        text=True,
        env={"CLUSTERGYM_PROGRAM": str(tmp_path / "none")},
    )
    assert wrong.returncode == 1 and wrong.stderr.startswith(f"clustergym: {tmp_path}/none is no program")
