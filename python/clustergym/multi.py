"""A PettingZoo environment: every server is an agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from . import _actions, _spaces
from ._copies import Copied
from ._options import RENDER_MODES, checked_mode, flags

# The keys of an agent's observation that all agents share.
_SHARED = ("jobs", "job_mask", "candidates", "job_of", "cluster")


class ClusterParallelEnv(Copied, ParallelEnv[str, dict[str, Any], int]):
    """The environment of one cluster in which every server is an agent; all of them act in every round until its end.

    An agent names a candidate in which its server takes part, or 0 to pass. A number that its mask forbids counts as 0;
    infos[agent]["illegal"] says how many agents named such a number. See clustergym.parallel_env.

    Attributes:
        features: the columns of "server", "job", "candidate" and "cluster" rows, each with name, unit, min and max.
    """

    metadata: dict[str, Any] = {
        "name": "clustergym_v1",
        "render_modes": list(RENDER_MODES),
        "render_fps": 4,
        "is_parallelizable": True,
    }
    _views = ("_shown", "_told", "_slot")

    def __init__(self, scenario: str = "embedded-small-v1", render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = checked_mode(render_mode)
        self._start(flags(scenario, **options), 1, "disabled", 1)
        hello = self._child.hello
        self.features = {of: hello[of] for of in ("server", "job", "candidate", "cluster")}
        numbers, whole = hello["candidates"], _spaces.shown(hello)
        self.possible_agents = [f"server_{i}" for i in range(hello["agents"])]
        self.agents: list[str] = []
        own = {
            "server": _spaces.rows(hello["server"]),
            "weights": spaces.Box(0, 1, (numbers,), np.float32),
            **{key: whole[key] for key in _SHARED},
        }
        self.observation_spaces = {
            agent: spaces.Dict({"observation": spaces.Dict(own), "action_mask": _spaces.bits(numbers)})
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(numbers) for agent in self.possible_agents}
        parts = [whole[key] for key in ("servers", "jobs", "cluster")]
        self.state_space = spaces.Box(
            np.concatenate([p.low.ravel() for p in parts]),
            np.concatenate([p.high.ravel() for p in parts]),
            dtype=np.float32,
        )
        self._rng: np.random.Generator | None = None  # until the first reset, so that copies draw episodes of their own
        self._empty = False  # the episode had nothing to choose from its beginning

    def _attach(self) -> None:
        self._shown = [_spaces.views(self._child, _spaces.SHOWN, slot, 0) for slot in range(2)]
        self._told = [_spaces.views(self._child, {**_spaces.TOLD, "action_mask": "mask"}, slot, 0) for slot in range(2)]
        self._slot = 0

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the space of an agent's observations."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Returns the space of an agent's actions."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Begins the episode of a seed, or one that the environment's generator draws. The time before the first step, and its
        rewards, are part of those of the first step. options are ignored."""
        if seed is not None or self._rng is None:
            self._rng, _ = seeding.np_random(seed)
        self._slot = self._child.reset([int(self._rng.integers(2**63)) if seed is None else seed])
        self.agents = self.possible_agents[:]
        self._empty = any(self._ends())
        infos = self._infos(dict.fromkeys(self.agents, 0.0))
        return self._observations(), {agent: {**info, "elapsed": 0.0} for agent, info in infos.items()}

    def step(
        self, actions: dict[str, int]
    ) -> tuple[dict[str, Any], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays one round. An agent without an action passes. After the end of an episode there are no agents until reset.

        Raises:
            ValueError: the action of an agent is no whole number of its action space, or there is no such agent; nothing is
                played.
        """
        if not self.agents:
            return {}, {}, {}, {}, {}
        joint = _actions.joint(actions, self.possible_agents, self.action_spaces.keys(), self._child.hello["candidates"])
        if not self._empty:
            self._child.arrays["joint"][0] = joint
            self._slot, _ = self._child.step(joint=True)
        rewards = self._rewards()
        self._empty = False
        terminated, truncated = self._ends()
        result = (
            self._observations(),
            rewards,
            dict.fromkeys(self.agents, terminated),
            dict.fromkeys(self.agents, truncated),
            self._infos(rewards),
        )
        if terminated or truncated:
            self.agents = []
        return result

    def state(self) -> np.ndarray:
        """Returns what a central critic sees, float32: the rows of all servers, those of all jobs, the cluster's features."""
        now = self._shown[self._slot]
        return np.concatenate([now[key].ravel() for key in ("servers", "jobs", "cluster")])

    def unanimous(self, number: int) -> dict[str, int]:
        """Returns the actions by which exactly this candidate is carried out: its servers name it, the others pass."""
        members = self._shown[self._slot]["coalition"][number] > 0
        return {agent: number if member else 0 for agent, member in zip(self.possible_agents, members, strict=True)}

    def render(self) -> Any:
        """Returns the schedule of the episode until now, as text or an image."""
        return _spaces.picture(self._child, self.render_mode)

    def metrics(self) -> dict[str, Any]:
        """Returns the metrics of the episode, as in results.json of `clustergym eval`; before its end those of what happened."""
        return self._child.picture()["metrics"]

    def close(self) -> None:
        """Ends the child process."""
        self._child.close()

    def _ends(self) -> tuple[bool, bool]:
        arrays = self._child.arrays
        return bool(arrays["terminated"][self._slot, 0]), bool(arrays["truncated"][self._slot, 0])

    def _rewards(self) -> dict[str, float]:
        return dict(zip(self.possible_agents, self._child.arrays["rewards"][self._slot, 0].tolist(), strict=True))

    def _observations(self) -> dict[str, Any]:
        """Copies the observations. The agents share what all of them see."""
        now = self._shown[self._slot]
        shared = {key: now[key].copy() for key in _SHARED}
        servers, weights = now["servers"].copy(), now["coalition"].T.copy()
        masks = self._told[self._slot]["action_mask"].copy()
        return {
            agent: {"observation": {"server": servers[i], "weights": weights[i], **shared}, "action_mask": masks[i]}
            for i, agent in enumerate(self.agents)
        }

    def _infos(self, rewards: dict[str, float]) -> dict[str, dict[str, Any]]:
        told = {key: a.copy() if a.ndim else a.item() for key, a in self._told[self._slot].items()}
        masks = told.pop("action_mask")
        return {agent: {**told, "action_mask": masks[i], "reward": rewards[agent]} for i, agent in enumerate(self.agents)}
