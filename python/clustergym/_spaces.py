"""What environments share: spaces and observations from the arrays of a child, and pictures of schedules."""

from __future__ import annotations

import colorsys
from collections.abc import Callable
from typing import Any

import numpy as np
from gymnasium import spaces

from ._child import Child

# The keys of observations, and the arrays that they show.
SHOWN = {
    "servers": "servers",
    "jobs": "jobs",
    "job_mask": "shown",
    "candidates": "candidates",
    "job_of": "of",
    "coalition": "coalition",
    "cluster": "cluster",
}
FINAL = {"servers": "final_servers", "jobs": "final_jobs", "job_mask": "final_shown", "cluster": "final_cluster"}

# The keys of infos, and the arrays that they show.
TOLD = {
    "action_mask": "legal",
    "prior": "prior",
    "reward": "reward",
    "elapsed": "elapsed",
    "now": "now",
    "taken": "taken",
    "refused": "refused",
    "illegal": "illegal",
}

PICTURE_WIDTH, PICTURE_HEIGHT = 640, 320


def rows(features: list[dict[str, Any]], *shape: int) -> spaces.Box:
    """Returns the space of rows of features. A row that is not in use is 0."""
    low = np.array([min(f["min"], 0) for f in features], np.float32)
    high = np.array([max(f["max"], 0) for f in features], np.float32)
    shape = (*shape, len(features))
    return spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), dtype=np.float32)


def bits(*shape: int) -> spaces.Box:
    """Returns the space of masks."""
    return spaces.Box(0, 1, shape, np.int8)


def shown(hello: dict[str, Any]) -> dict[str, spaces.Box[Any]]:
    """Returns the space of each key in SHOWN."""
    agents, numbers, jobs = hello["agents"], hello["candidates"], hello["jobs"]
    return {
        "servers": rows(hello["server"], agents),
        "jobs": rows(hello["job"], jobs),
        "job_mask": bits(jobs),
        "candidates": rows(hello["candidate"], numbers),
        "job_of": spaces.Box(-1, max(jobs - 1, 0), (numbers,), np.int32),
        "coalition": spaces.Box(0, 1, (numbers, agents), np.float32),
        "cluster": rows(hello["cluster"]),
    }


def views(child: Child, names: dict[str, str], *index: int) -> dict[str, np.ndarray]:
    """Returns views of arrays at an index, by key; a number is an array without dimensions.

    Masks are numbers, as the spaces of gymnasium want them.
    """
    at: tuple[Any, ...] = (*index, ...)
    found = {key: child.arrays[name][at] for key, name in names.items()}
    return {key: a.view(np.int8) if a.dtype == np.bool_ else a for key, a in found.items()}


def readers(views: dict[str, np.ndarray]) -> list[tuple[str, Callable[[], Any]]]:
    """Returns functions that copy arrays, by key; those of arrays without dimensions return their number."""
    return [(key, a.copy if a.ndim else a.item) for key, a in views.items()]


def picture(child: Child, mode: str | None, env: int = 0) -> str | np.ndarray | None:
    """Returns the schedule of the present episode as text or as an image of shape [PICTURE_HEIGHT, PICTURE_WIDTH, 3]."""
    if mode is None:
        return None
    drawn = child.picture(env)
    if mode == "ansi":
        return drawn["text"]
    image = np.full((PICTURE_HEIGHT, PICTURE_WIDTH, 3), 255, np.uint8)
    first = np.concatenate([[0], np.cumsum(drawn["gpus"])])
    down, across = PICTURE_HEIGHT / first[-1], PICTURE_WIDTH / max(drawn["until"], 1e-9)
    for box in drawn["boxes"] or ():
        top = first[box["server"]] + box["gpu"]
        y = slice(round(top * down), max(round(top * down) + 1, round((top + box["count"]) * down)))
        x = slice(int(box["from"] * across), max(int(box["from"] * across) + 1, round(box["to"] * across)))
        # Neighbouring jobs get hues that are far from each other: steps of the golden ratio.
        colour = colorsys.hsv_to_rgb(box["job"] * 0.618034 % 1, 0.6, 0.9)
        image[y, x] = np.multiply(colour, 255).astype(np.uint8)
    for top in first[1:-1]:  # lines between servers
        image[round(top * down)] = 0
    return image
