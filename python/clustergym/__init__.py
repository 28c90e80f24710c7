"""A gym for scheduling deep-learning jobs on GPU clusters.

    env = clustergym.parallel_env("embedded-small-v1")                                   # PettingZoo: servers are agents
    env = gymnasium.make("clustergym/Cluster-v1", scenario="embedded-small-v1")          # a central controller
    envs = gymnasium.make_vec("clustergym/Cluster-v1", num_envs=16, scenario="embedded-small-v1")

    frame = clustergym.evaluate("embedded-small-v1", {"srtf": "srtf", "mine": my_policy})  # paired results

The program clustergym, which the package contains, plays the environments in a process of its own. docs/python.md of the
project says more.
"""

from __future__ import annotations

from importlib import metadata
from typing import Any

import gymnasium

from ._child import ClusterGymError
from .envs import ClusterEnv, ClusterVectorEnv
from .export import export_policy
from .multi import ClusterParallelEnv
from .results import evaluate, policies, scenarios, simulate

try:
    __version__ = metadata.version("clustergym")
except metadata.PackageNotFoundError:  # imported from a checkout
    __version__ = "0+unknown"

gymnasium.register(
    "clustergym/Cluster-v1",
    entry_point="clustergym.envs:ClusterEnv",
    vector_entry_point="clustergym.envs:ClusterVectorEnv",
)


def parallel_env(scenario: str = "embedded-small-v1", render_mode: str | None = None, **options: Any) -> ClusterParallelEnv:
    """Returns a PettingZoo environment in which every server of a cluster is an agent.

    Args:
        scenario: a built-in scenario (scenarios lists them), or the path of a YAML file.
        render_mode: "ansi" for text, "rgb_array" for an image [320, 640, 3], or None.
        settings: changes of the scenario by dotted key, such as {"cluster.servers": 16}.
        split: whose windows are played: "train" (default), "validation" or "test".
        window: how many jobs the agents see, 32 unless given.
        prior: the base policy whose proposals the agents review; None for that of `clustergym env`.
        agree: "all" (default) if all servers of a candidate must name it, "lead" if its lead server must.
        candidates: 0 (default) for narrow lists, or how many candidates wide lists have.
        rivals: baselines whose proposals are added to wide lists.
        encoder: name of the encoder of observations.
        reward: name of the reward.
        objective: the reward is minus the cost of this objective, and each agent's is its part of it: a name of
            `clustergym objective ls`, the path of a YAML file, or a dictionary such as
            {"name": "mine", "terms": [{"cost": "wait", "over": "10m", "price": "1/min"}]}. Rows of jobs and of the cluster show what
            it costs (docs/env.md).
        case_seed: if not 0, play the cases of `clustergym eval` with this seed: the seed of a reset then only selects the window,
            by its index.

    Raises:
        TypeError: there is no such option, or it has a value of another type.
        ClusterGymError: an argument is not understood; the message is that of the program.
    """
    return ClusterParallelEnv(scenario, render_mode, **options)


__all__ = [
    "ClusterEnv",
    "ClusterGymError",
    "ClusterParallelEnv",
    "ClusterVectorEnv",
    "evaluate",
    "export_policy",
    "parallel_env",
    "policies",
    "scenarios",
    "simulate",
]
