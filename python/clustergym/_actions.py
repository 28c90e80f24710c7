"""Actions, as numbers that the program takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np


def number(action: Any, count: int, whose: str = "action") -> int:
    """Returns an action that is one of count numbers.

    Raises:
        ValueError: it is none; nothing is played.
    """
    if type(action) is not int and not isinstance(action, np.integer):
        array = _array(action)
        if array.shape != ():
            more = ", as its method item() returns it" if array.size == 1 else ""
            raise ValueError(f"{whose} {_shown(action)} has the shape {array.shape}, want one number{more}")
        if array.dtype.kind not in "iu":
            raise ValueError(f"{whose} {_shown(action)} is of the type {array.dtype}, want a whole number from 0 to {count - 1}")
        action = array
    if not 0 <= action < count:
        raise ValueError(f"{whose} {action} does not exist, want 0 to {count - 1}")
    return int(action)


def numbers(actions: Any, envs: int, count: int) -> np.ndarray:
    """Returns the actions of several environments, one for each."""
    array = _array(actions)
    if array.shape != (envs,):
        raise ValueError(f"actions {_shown(actions)} have the shape {array.shape}, want ({envs},): one for each environment")
    if array.dtype.kind not in "iu" or not 0 <= min(listed := array.tolist()) <= max(listed) < count:
        for i, action in enumerate(array):
            number(action, count, f"action of environment {i}:")
    return array


def joint(actions: Any, agents: Sequence[str], known: Set[str], count: int) -> list[int]:
    """Returns the actions of all agents, whose names are known, in their order. An agent without one passes."""
    if not isinstance(actions, Mapping):
        raise ValueError(f"actions {_shown(actions)} are no dictionary, want one from names of agents to numbers")
    if not actions.keys() <= known:
        unknown = next(agent for agent in actions if agent not in known)
        raise ValueError(f"there is no agent {unknown!r}, want {agents[0]} to {agents[-1]}")
    row = [actions.get(agent, 0) for agent in agents]
    if {type(action) for action in row} <= {int, np.int64} and 0 <= min(row) <= max(row) < count:
        return row
    return [number(action, count, f"action of {agent}:") for agent, action in zip(agents, row, strict=True)]


def _array(actions: Any) -> np.ndarray:
    try:
        return np.asarray(actions)
    except ValueError:  # of sequences of different lengths
        return np.asarray(actions, object)


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:60] + "..."
