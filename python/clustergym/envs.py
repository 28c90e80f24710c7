"""Gymnasium environments: a central controller names one candidate for the whole cluster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from . import _actions, _spaces
from ._child import Child, ClusterGymError
from ._copies import Copied
from ._options import RENDER_MODES, checked_mode, flags, whole

_MODES = {
    AutoresetMode.SAME_STEP: "same-step",
    AutoresetMode.NEXT_STEP: "next-step",
    AutoresetMode.DISABLED: "disabled",
}


class ClusterEnv(Copied, gymnasium.Env[dict[str, Any], np.int64]):
    """The environment of one cluster for a central controller.

    An action is the number of a candidate, which all servers that take part in it then name; 0 passes. A number that
    info["action_mask"] forbids counts as 0, and info["illegal"] is 1 then.

    Observations and infos belong to the caller. docs/python.md lists their keys and shapes. An episode with nothing to choose
    is over after one step, whatever the action. The episode of a seed is that of `clustergym env` with this seed.

    Args:
        scenario: a built-in scenario, or the path of a YAML file.
        render_mode: "ansi", "rgb_array" or None.
        options: as for clustergym.parallel_env.

    Attributes:
        features: the columns of "server", "job", "candidate" and "cluster" rows, each with name, unit, min and max.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}
    _views = ("_slots", "_actions", "_numbers", "_slot")

    def __init__(self, scenario: str = "embedded-small-v1", render_mode: str | None = None, **options: Any) -> None:
        self.render_mode = checked_mode(render_mode)
        self._start(flags(scenario, **options), 1, "disabled", 1)
        hello = self._child.hello
        self.features = {of: hello[of] for of in ("server", "job", "candidate", "cluster")}
        self.observation_space = spaces.Dict(_spaces.shown(hello))
        self.action_space = spaces.Discrete(hello["candidates"])
        self._empty = False  # the episode had nothing to choose from its beginning

    def _attach(self) -> None:
        self._slots = [_Slot(self._child, slot) for slot in range(2)]
        self._actions = self._child.arrays["actions"]
        self._numbers = self._child.hello["candidates"]
        self._slot = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begins the episode of a seed, or one that the environment's generator draws. The time before the first step, and its
        reward, are part of those of the first step."""
        super().reset(seed=seed)
        self._slot = self._child.reset([int(self.np_random.integers(2**63)) if seed is None else seed])
        now = self._slots[self._slot]
        self._empty = now.terminated() or now.truncated()
        return now.observation(), {**now.info(), "reward": 0.0, "elapsed": 0.0}

    def step(self, action: int | np.integer) -> tuple[dict[str, np.ndarray], float, bool, bool, dict[str, Any]]:
        """Plays one round.

        Raises:
            ValueError: the action is no whole number of the action space; nothing is played.
        """
        number = _actions.number(action, self._numbers)
        if self._empty:
            self._empty = False
            now = self._slots[self._slot]
            return now.observation(), now.reward(), now.terminated(), now.truncated(), now.info()
        self._actions[0] = number
        self._slot, _ = self._child.step()
        now = self._slots[self._slot]
        return now.observation(), now.reward(), now.terminated(), now.truncated(), now.info()

    def action_masks(self) -> np.ndarray:
        """Returns the numbers that may be named now, bool [numbers], as sb3-contrib's MaskablePPO asks for them."""
        return self._child.arrays["legal"][self._slot, 0].copy()

    def render(self) -> Any:
        """Returns the schedule of the episode until now, as text or an image."""
        return _spaces.picture(self._child, self.render_mode)

    def metrics(self) -> dict[str, Any]:
        """Returns the metrics of the episode, as in results.json of `clustergym eval`; before its end those of what happened."""
        return self._child.picture()["metrics"]

    def close(self) -> None:
        """Ends the child process."""
        self._child.close()


class _Slot:
    """Reads what one slot of the memory shows of the first environment. The methods are found once, because this takes longer
    than copying a small array."""

    def __init__(self, child: Child, slot: int) -> None:
        self._shown = _spaces.readers(_spaces.views(child, _spaces.SHOWN, slot, 0))
        self._told = _spaces.readers(_spaces.views(child, _spaces.TOLD, slot, 0))
        self.reward, self.terminated, self.truncated = (
            child.arrays[name][slot, 0, ...].item for name in ("reward", "terminated", "truncated")
        )

    def observation(self) -> dict[str, np.ndarray]:
        return {key: read() for key, read in self._shown}

    def info(self) -> dict[str, Any]:
        return {key: read() for key, read in self._told}


class ClusterVectorEnv(Copied, gymnasium.vector.VectorEnv[dict[str, Any], np.ndarray, np.ndarray]):
    """Environments of one cluster each, played in parallel by one child process.

    Observations, and the masks in infos, are views of memory that the child writes. They are valid until the second step or
    reset after the one that returned them: the step in between writes elsewhere. Copy what must live longer, or give copy=True.
    Rewards and ends are always copies.

    Args:
        num_envs: how many environments.
        autoreset_mode: an AutoresetMode of gymnasium or its value; metadata["autoreset_mode"] declares it.
        workers: how many environments play at a time; 0 for as many as there are cores.
        copy: whether to return copies.
        scenario, render_mode, options: as for ClusterEnv.
    """

    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES), "render_fps": 4}
    _views = ("_shown", "_told", "_results", "_final", "_actions", "_numbers", "_slot")

    def __init__(
        self,
        num_envs: int = 1,
        scenario: str = "embedded-small-v1",
        render_mode: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        workers: int = 0,
        copy: bool = False,
        **options: Any,
    ) -> None:
        mode = AutoresetMode(autoreset_mode)
        self.num_envs, self.render_mode, self._copy = whole("num_envs", num_envs), checked_mode(render_mode), copy
        self.metadata = {**self.metadata, "autoreset_mode": mode}
        self._start(flags(scenario, **options), self.num_envs, _MODES[mode], whole("workers", workers))
        child = self._child
        self._spaces = _spaces.shown(child.hello)
        self.single_observation_space = spaces.Dict(self._spaces)
        self.single_action_space = spaces.Discrete(child.hello["candidates"])
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def _attach(self) -> None:
        child = self._child
        all_of = np.ones(self.num_envs, np.bool_)  # gymnasium wants a mask beside every key
        masks = {"_" + key: all_of for key in _spaces.TOLD}
        self._shown = [_spaces.views(child, _spaces.SHOWN, slot) for slot in range(2)]
        self._told = [_spaces.views(child, _spaces.TOLD, slot) | masks for slot in range(2)]
        # The methods are found once, because this takes longer than copying a small array.
        self._results = [[child.arrays[name][slot].copy for name in ("reward", "terminated", "truncated")] for slot in range(2)]
        self._final = _spaces.views(child, _spaces.FINAL)
        self._actions = child.arrays["actions"]
        self._numbers = child.hello["candidates"]
        self._slot = 0

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Begins an episode in every environment, or in those that options["reset_mask"] (bool [num_envs]) selects.

        Args:
            seed: seed + i is that of environment i; or a seed for each, of which None draws one. Later episodes get seeds
                that depend on this one alone.
            options: see above; other keys are ignored.
        """
        super().reset(seed=seed if seed is None or isinstance(seed, (int, np.integer)) else None)
        if seed is None:
            seeds: list[int | None] = [None] * self.num_envs
        elif isinstance(seed, (int, np.integer)):
            seeds = [int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds, want one for each of the {self.num_envs} environments")
        drawn = [int(self.np_random.integers(2**63)) if s is None else s for s in seeds]
        mask = (options or {}).get("reset_mask")
        if mask is not None and np.shape(mask) != (self.num_envs,):
            raise ValueError(f"reset_mask has shape {np.shape(mask)}, want ({self.num_envs},)")
        self._slot = self._child.reset(drawn, mask)
        return self._observations(), self._infos()

    def step(self, actions: np.ndarray) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Plays one round of every environment.

        Args:
            actions: the number of a candidate for each environment, [num_envs].

        Returns:
            observations [num_envs, ...] by key, rewards float64 [num_envs], terminations and truncations bool [num_envs], infos.

        Raises:
            ValueError: the actions are not one whole number of the action space for each environment; nothing is played.
        """
        self._actions[:] = _actions.numbers(actions, self.num_envs, self._numbers)
        slot, ended = self._child.step()
        self._slot = slot
        reward, terminated, truncated = self._results[slot]
        infos = self._infos()
        if ended:
            self._add_final(infos)
        return self._observations(), reward(), terminated(), truncated(), infos

    def action_masks(self) -> np.ndarray:
        """Returns the numbers that may be named now, bool [num_envs, numbers], of the caller's own."""
        return self._child.arrays["legal"][self._slot].copy()

    def render(self) -> Any:
        """Returns the schedules of all environments, as texts or images."""
        if self.render_mode is None:
            return None
        return tuple(_spaces.picture(self._child, self.render_mode, i) for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """Ends the child process."""
        self._child.close()

    def _observations(self) -> dict[str, np.ndarray]:
        views = self._shown[self._slot]
        return {key: a.copy() for key, a in views.items()} if self._copy else views.copy()

    def _infos(self) -> dict[str, Any]:
        views = self._told[self._slot]
        return {key: a.copy() for key, a in views.items()} if self._copy else views.copy()

    def _add_final(self, infos: dict[str, Any]) -> None:
        """Adds the last observations of the episodes that this step ended and replaced."""
        ended = self._child.arrays["ended"][self._slot].copy()
        last = np.full(self.num_envs, None, dtype=object)
        for i in np.flatnonzero(ended):
            # There are no candidates at an end.
            last[i] = {key: np.zeros(s.shape, s.dtype) for key, s in self._spaces.items()}
            last[i]["job_of"][:] = -1
            for key, a in self._final.items():
                last[i][key][:] = a[i]
        now = np.where(ended, self._child.arrays["final_now"], 0)
        infos.update(final_obs=last, _final_obs=ended, final_info={"now": now, "_now": ended}, _final_info=ended)


__all__ = ["ClusterEnv", "ClusterGymError", "ClusterVectorEnv"]
