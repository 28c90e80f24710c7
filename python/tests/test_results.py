"""Simulations and evaluations."""

from __future__ import annotations

import pytest

import clustergym

TRACE = "job_id,num_gpu,submit_time,duration\n1,2,0,100\n2,2,10,50\n3,4,20,5\n4,1,30,10.5\n"


def test_simulate(tmp_path):
    trace = tmp_path / "jobs.csv"
    trace.write_text(TRACE)
    metrics, jobs = clustergym.simulate(trace, 1, 4, "fifo", preempt_overhead="60s", skip_bad_rows=True)
    assert metrics["finished"] == 4 and jobs.job_id.tolist() == ["1", "2", "3", "4"]
    assert metrics["mean_jct_s"] == pytest.approx(jobs.jct_s.mean())
    with pytest.raises(clustergym.ClusterGymError, match="^(?!{).*no-such-policy"):
        clustergym.simulate(trace, 1, 4, "no-such-policy")


@pytest.mark.parametrize("settings", [{}, {"estimates.kind": "noisy", "estimates.sigma": 0.6}])
def test_a_policy_in_python_plays_the_same_episodes(settings):
    # A player that names what the prior would choose makes the prior's own schedule, so all its metrics are the prior's.
    frame = clustergym.evaluate(
        "embedded-small-v1",
        {"fifo": "fifo", "prior's": lambda observation, info: info["prior"], "passes": lambda observation, info: 0},
        windows=2,
        seeds=2,
        settings={**settings, "cluster.servers": 4},
        prior="sjfskip",
    )
    assert frame.policy.tolist() == [p for p in ("sjfskip", "fifo", "prior's", "passes") for _ in range(4)]
    assert frame.seed.tolist() == [1, 2, 1, 2] * 4
    by = {name: rows.set_index(["window", "seed"]).sort_index().drop(columns="policy") for name, rows in frame.groupby("policy")}
    same = by["prior's"].drop(columns="refused").eq(by["sjfskip"].drop(columns="refused"))
    assert same.to_numpy().all(), same.columns[~same.all()]
    assert (by["prior's"].relative == 0).all() and (by["fifo"].relative > 0).all() and (by["passes"].difference != 0).all()
    if settings:
        assert frame[frame.policy == "fifo"].groupby("window").mean_jct_s.nunique().eq(1).all()  # fifo does not read estimates
        assert frame[frame.policy == "sjfskip"].groupby("window").mean_jct_s.nunique().eq(2).all()


def test_a_team_in_python_plays_the_same_episodes():
    game = {"settings": {"cluster.servers": 4}, "prior": "sjfskip"}
    env = clustergym.parallel_env("embedded-small-v1", split="test", case_seed=1, **game)
    want = clustergym.evaluate("embedded-small-v1", ["sjfskip"], windows=2, settings=game["settings"])
    for window, expected in enumerate(want.mean_jct_s):
        _, infos = env.reset(seed=window)
        while env.agents:
            *_, infos = env.step(env.unanimous(infos["server_0"]["prior"]))
        assert env.metrics()["mean_jct_s"] == expected
    env.close()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"policies": "srtf"}, r"policies is 'srtf', want a list, such as \[\"srtf\"\], or a dictionary"),
        ({"policies": lambda *_: 0}, "policies is <function .*, want a list"),
        ({"policies": [lambda *_: 0]}, "a policy is <function .*, want a name, or a dictionary for others"),
        ({"policies": {"mine": 3}}, "policy mine is 3, want a name, a folder, or a function"),
        ({"policies": ["srtf"], "baseline": None}, "baseline is None .NoneType., want a name"),
        ({"policies": ["srtf"], "windows": 1.5}, "windows is 1.5 .float., want a whole number"),
        ({"policies": ["srtf"], "windows": 1, "settings": ["cluster.servers=4"]}, "settings is .*, want a dictionary"),
        ({"policies": {"mine": lambda *_: 0}, "windows": 1, "reward": print}, "reward is .*, want a name"),
    ],
)
def test_evaluate_says_what_it_wants(arguments, says):
    with pytest.raises(TypeError, match=says):
        clustergym.evaluate("embedded-small-v1", **arguments)


def test_simulate_says_what_it_wants(tmp_path):
    for arguments, says in (
        ((None, 1, 4, "fifo"), "trace is a NoneType, want the path of a CSV file"),
        ((tmp_path, 1.5, 4, "fifo"), "servers is 1.5 .float., want a whole number"),
        ((tmp_path, 1, "4", "fifo"), "gpus_per_server is '4' .str., want a whole number"),
        (
            (tmp_path, 1, 4, lambda *_: 0),
            "policy is <function .*, want a name or the folder of a policy: evaluate also plays functions",
        ),
    ):
        with pytest.raises(TypeError, match=says):
            clustergym.simulate(*arguments)


def test_evaluate_refuses():
    with pytest.raises(ValueError, match="there is no metric 'speed', want one of .*mean_jct_s"):
        clustergym.evaluate("embedded-small-v1", ["fifo"], windows=1, metric="speed")
    with pytest.raises(ValueError, match="the baseline mine is a function"):
        clustergym.evaluate("embedded-small-v1", {"mine": lambda observation, info: 0}, baseline="mine")
    with pytest.raises(clustergym.ClusterGymError, match="no-such-policy"):
        clustergym.evaluate("embedded-small-v1", ["no-such-policy"], windows=1)
