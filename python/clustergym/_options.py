"""The options of environments as flags of the program, and what is wrong with those that are none."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

RENDER_MODES = ("ansi", "rgb_array")


def flags(scenario: str | os.PathLike[str], **options: Any) -> list[str]:
    """Returns the flags of `clustergym env` that define an environment. docs/python.md says what each does.

    Raises:
        TypeError: there is no such option, or it has a value of another type.
    """
    if not isinstance(scenario, (str, os.PathLike)):
        raise TypeError(f"scenario is {_shown(scenario)}, want the name of a scenario or the path of a YAML file")
    args = ["--scenario", os.fspath(scenario)]
    for name in options:
        if name not in _READ:
            raise TypeError(
                f"there is no option {name}: settings of the scenario are given by key, such as "
                f'settings={{"cluster.servers": 4}}; options are {", ".join(_READ)}'
            )
    for name, read in _READ.items():
        value = options.get(name)
        if value is not None:
            args += read(name, value)
    return args


def setting_flags(settings: Mapping[str, Any] | None) -> list[str]:
    """Returns the flags that change a scenario."""
    return [] if settings is None else _settings("settings", settings)


def whole(name: str, value: Any) -> int:
    """Returns a value that is a whole number."""
    try:
        if not isinstance(value, (bool, np.bool_)):
            return operator.index(value)
    except TypeError:
        pass
    raise TypeError(f"{name} is {_shown(value)}, want a whole number")


def text(name: str, value: Any, more: str = "") -> str:
    """Returns a value that is a name."""
    if isinstance(value, str):
        return value
    raise TypeError(f"{name} is {_shown(value)}, want a name{more}")


def checked_mode(mode: str | None) -> str | None:
    """Returns a mode in which environments can draw."""
    if mode is None or mode in RENDER_MODES:
        return mode
    raise ValueError(f"render_mode is {mode!r}, want None or one of {', '.join(RENDER_MODES)}")


def _text(name: str, value: Any) -> list[str]:
    own = ""
    if name in ("reward", "encoder") and callable(value):
        own = f": {name}s are written in Go, and docs/env.md, Your own, says how; what step returns can be changed by a wrapper"
    return [_flag(name), text(name, value, own)]


def _number(name: str, value: Any) -> list[str]:
    return [_flag(name), str(whole(name, value))]


def _names(name: str, value: Any) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Sequence) or not all(isinstance(x, str) for x in value):
        raise TypeError(f'{name} is {_shown(value)}, want a list of names, such as ["srtf"]')
    return [_flag(name), ",".join(value)] if value else []


def _settings(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        raise TypeError(f'{name} is {_shown(value)}, want a dictionary, such as {{"cluster.servers": 4}}')
    args = []
    for key, setting in value.items():
        if not isinstance(key, str):
            raise TypeError(f"{name} has the key {_shown(key)}, want a text such as cluster.servers")
        try:
            text = setting if isinstance(setting, str) else json.dumps(setting, default=_plain, allow_nan=False)
        except (TypeError, ValueError):
            raise TypeError(
                f"{name}[{key!r}] is {_shown(setting)}, want a text, a finite number, True or False, or a list or dictionary of"
                " these"
            ) from None
        args += ["--set", f"{key}={text}"]
    return args


def _objective(name: str, value: Any) -> list[str]:
    if not isinstance(value, Mapping):
        return [_flag(name), text(name, value, ", a path or a dictionary")]
    try:
        return [_flag(name), json.dumps(value, default=_plain, allow_nan=False)]
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {_shown(value)}, want a dictionary of texts, finite numbers, lists and dictionaries") from None


def _plain(value: Any) -> Any:
    """Returns what json can write of a value that it does not know."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return os.fspath(value)


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _shown(value: Any) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:60] + '...'} ({type(value).__name__})"


# How each option is read. None leaves out an option.
_READ = {
    "settings": _settings,
    "split": _text,
    "window": _number,
    "prior": _text,
    "agree": _text,
    "candidates": _number,
    "rivals": _names,
    "encoder": _text,
    "reward": _text,
    "objective": _objective,
    "case_seed": _number,
}
