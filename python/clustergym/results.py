"""Simulations and evaluations by the program, with policies written in Python beside its own. Needs pandas."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ._child import ClusterGymError, program
from ._options import setting_flags, text, whole
from .envs import ClusterEnv

if TYPE_CHECKING:
    import pandas

# A policy in Python: from what ClusterEnv shows, an observation and an info, to the number of a candidate.
Policy = Callable[[dict[str, np.ndarray], dict[str, Any]], int]


def run(*args: str) -> str:
    """Runs a command of clustergym and returns what it prints.

    Raises:
        ClusterGymError: it fails; the message is what it says.
    """
    done = subprocess.run([program(), "--quiet", *args], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode != 0:
        said = done.stderr.strip() or f"clustergym {args[0]}: exit code {done.returncode}"
        raise ClusterGymError(json.loads(said)["error"] if said.startswith("{") else said)
    return done.stdout


def _folder(policy: Any) -> Any:
    """Returns the path of a folder as a text, and anything else as it is."""
    return fspath(policy) if isinstance(policy, PathLike) else policy


def scenarios() -> dict[str, str]:
    """Returns the names of the built-in scenarios, with a line about each, as `clustergym scenario ls --all` lists them."""
    return {s["name"]: s["about"] for s in json.loads(run("scenario", "ls", "--all", "--json"))}


def policies() -> dict[str, str]:
    """Returns the names of the built-in policies, with a line about each, as `clustergym baselines` lists them.

    evaluate, simulate and the option prior take them, also with the options that docs/policies.md lists, such as "las:place=compact"
    and "srtf+know".
    """
    return {p["name"]: p["about"] for p in json.loads(run("baselines", "--json"))}


def simulate(
    trace: str | PathLike[str], servers: int, gpus_per_server: int, policy: str, **options: Any
) -> tuple[dict[str, Any], pandas.DataFrame]:
    """Plays every job of a trace on a cluster under one policy of the program, as `clustergym simulate` does.

    Args:
        trace: the path of a CSV file of jobs.
        servers: how many servers there are.
        gpus_per_server: GPUs of each.
        policy: a baseline, "released", or the folder of a policy or run.
        options: other flags of the command, with _ for -, such as preempt_overhead="60s".

    Returns:
        The metrics, by the keys of --json, and a row for each job: job_id, submit_s, start_s, end_s, jct_s.
    """
    import pandas

    if not isinstance(trace, (str, PathLike)):
        raise TypeError(
            f"trace is a {type(trace).__name__}, want the path of a CSV file with the columns of docs/traces.md; a DataFrame is"
            ' written to one by frame.to_csv("jobs.csv", index=False)'
        )
    args = ["--trace", fspath(trace), "--servers", str(whole("servers", servers))]
    args += ["--gpus-per-server", str(whole("gpus_per_server", gpus_per_server))]
    args += ["--policy", text("policy", _folder(policy), " or the folder of a policy: evaluate also plays functions")]
    args += [f"--{name.replace('_', '-')}={json.dumps(v) if isinstance(v, bool) else v}" for name, v in options.items()]
    with tempfile.TemporaryDirectory() as folder:
        jobs = Path(folder) / "jobs.csv"
        metrics = json.loads(run("simulate", "--json", "--jobs-out", str(jobs), *args))
        return metrics, pandas.read_csv(jobs, dtype={"job_id": str})


def evaluate(
    scenario: str,
    policies: Sequence[str] | Mapping[str, str | Policy],
    baseline: str = "sjfskip",
    *,
    metric: str = "mean_jct_s",
    split: str = "test",
    windows: int = 0,
    seeds: int = 1,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> pandas.DataFrame:
    """Plays the same windows under every policy and pairs the results with the baseline's.

    The program plays its own policies, as `clustergym eval` does. A policy in Python plays the same episodes in a ClusterEnv.

    Args:
        scenario: a built-in scenario, or the path of a YAML file.
        policies: names of policies of the program, such as "srtf" or "released", or a mapping from the name in the result to such
            a name, to the folder of a policy, or to a function from an observation and an info to the number of a candidate.
        baseline: the policy of the program that the others are compared with.
        metric: the metric whose differences are added.
        split: whose windows are played.
        windows: how many of them, from the first on; 0 for all.
        seeds: plays every window with the seeds 1 to this number.
        settings: changes of the scenario by dotted key.
        options: of the ClusterEnv in which policies in Python play, such as prior.

    Returns:
        A row for each policy, window and seed, in this order, with all metrics of results.json. Two columns compare a row with
        the baseline's of the same window and seed: difference, and relative, the difference in percent of the baseline's.
    """
    import pandas

    if isinstance(policies, str) or callable(policies):
        raise TypeError(f'policies is {policies!r}, want a list, such as ["srtf"], or a dictionary from names to policies')
    if not isinstance(policies, Mapping):
        policies = {text("a policy", _folder(p), ", or a dictionary for others"): p for p in policies}
    named = {name: _folder(p) for name, p in policies.items()}
    scenario = text("scenario", _folder(scenario), " or the path of a YAML file")
    own = {name: p for name, p in named.items() if not isinstance(p, str)}
    listed = [p if p == name else f"{name}={p}" for name, p in named.items() if isinstance(p, str)]
    for name, policy in own.items():
        if not callable(policy):
            raise TypeError(f"policy {name} is {policy!r}, want a name, a folder, or a function from an observation and an info")
    if text("baseline", baseline) in own:
        raise ValueError(f"the baseline {baseline} is a function, want a policy of the program")
    with tempfile.TemporaryDirectory() as folder:
        args = [
            "--scenario",
            scenario,
            "--policies",
            ",".join(listed or [baseline]),
            "--baseline",
            baseline,
            "--split",
            split,
        ]
        args += [
            "--windows",
            str(whole("windows", windows)),
            "--seeds",
            str(whole("seeds", seeds)),
            "--figures",
            "none",
            "--out",
            folder,
        ]
        run("eval", *args, *setting_flags(settings))
        cases = [json.loads(line) for line in (Path(folder) / "results.jsonl").read_text().splitlines()]
    for case in cases:
        case.pop("jct_percentiles_s", None)
    played = [c for c in cases if c["policy"] == baseline]
    if not isinstance(played[0].get(metric), (int, float)):
        known = ", ".join(key for key, x in played[0].items() if isinstance(x, (int, float)))
        raise ValueError(f"there is no metric {metric!r}, want one of {known}")
    for name, policy in own.items():
        cases += _play(name, policy, played, scenario, split=split, settings=settings, **options)
    frame = pandas.DataFrame(cases)
    order = {name: i for i, name in enumerate(dict.fromkeys([baseline, *named]))}
    frame = frame.sort_values(["policy"], key=lambda names: names.map(order), kind="stable", ignore_index=True)
    beside = frame[frame.policy == baseline].set_index(["window", "seed"])[metric]
    beside = beside.reindex(pandas.MultiIndex.from_frame(frame[["window", "seed"]])).to_numpy()
    frame["difference"] = frame[metric] - beside
    frame["relative"] = 100 * frame.difference / beside
    return frame


def _play(name: str, policy: Policy, cases: list[dict[str, Any]], scenario: str, **options: Any) -> list[dict[str, Any]]:
    """Plays the episodes of cases under a policy in Python."""
    results = {}
    for seed in dict.fromkeys(case["seed"] for case in cases):
        env = ClusterEnv(scenario, case_seed=seed, **options)
        try:
            for case in (c for c in cases if c["seed"] == seed):
                # The name of a window is that of its split and its index.
                observation, info = env.reset(seed=int(case["window"].rsplit("-", 1)[1]))
                over = False
                while not over:
                    observation, _, terminated, truncated, info = env.step(policy(observation, info))
                    over = terminated or truncated
                key = {k: case[k] for k in ("scenario", "split", "window", "seed")}
                results[case["window"], seed] = {**key, "policy": name, **env.metrics()}
        finally:
            env.close()
    return [results[case["window"], case["seed"]] for case in cases]
