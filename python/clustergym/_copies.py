"""Environments that can be copied and pickled."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from ._child import Child


class Copied:
    """An environment with a child, whose copies have children of their own.

    copy.deepcopy and pickle keep the arguments of the environment, its generator, and how its present episode came about: its
    seed and actions. The child of the copy plays these again, which takes as long as they took, and is then in the same state.
    """

    # The attributes that show the child's memory; _attach sets them.
    _views: ClassVar[Sequence[str]]

    def _start(self, *made: Any, saved: bytes = b"") -> None:
        """Starts the child with the arguments of Child, as it was saved if it was."""
        self._made = made
        self._child = Child(*made, saved=saved)
        self._attach()

    def _attach(self) -> None:
        raise NotImplementedError

    def __getstate__(self) -> dict[str, Any]:
        kept = {key: value for key, value in self.__dict__.items() if key != "_child" and key not in self._views}
        return {**kept, "_child": self._child.save()}

    def __copy__(self) -> Copied:
        return copy.deepcopy(self)  # two environments that share a generator would be no copies

    def __setstate__(self, state: dict[str, Any]) -> None:
        saved = state["_child"]
        self.__dict__.update({key: value for key, value in state.items() if key != "_child"})
        self._start(*self._made, saved=saved)
