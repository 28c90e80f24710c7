"""The child process that plays environments, and the memory that it shares with this one.

The Go package env/envserve documents requests, replies and arrays.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import subprocess
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

PROTOCOL = 1
_HELLO, _RESET, _STEP, _RENDER = 1, 2, 3, 4
_STEPS = [struct.pack("<II", _STEP, by) for by in range(2)]
_DONE = bytes(4)
_PATIENCE = 5.0  # seconds that a child gets to end by itself


class ClusterGymError(RuntimeError):
    """The program clustergym reports an error, or has ended."""


def program() -> str:
    """Returns the path of the program: that of CLUSTERGYM_PROGRAM, or the one that the package contains."""
    path = os.environ.get("CLUSTERGYM_PROGRAM") or str(Path(__file__).parent / "bin" / "clustergym")
    if not os.access(path, os.X_OK):
        raise ClusterGymError(
            f"{path} is no program: install a wheel of clustergym for this platform, or let CLUSTERGYM_PROGRAM name the program"
        )
    return path


def flags(
    scenario: str,
    *,
    settings: Mapping[str, Any] | None = None,
    split: str = "train",
    window: int = 32,
    prior: str | None = None,
    agree: str = "all",
    candidates: int = 0,
    rivals: Sequence[str] = (),
    encoder: str = "standard",
    reward: str = "flow",
    case_seed: int = 0,
) -> list[str]:
    """Returns the flags of `clustergym env` that define an environment. docs/python.md says what each does."""
    args = ["--scenario", scenario, "--split", split, "--window", str(window), "--agree", agree]
    args += ["--candidates", str(candidates), "--encoder", encoder, "--reward", reward]
    if prior is not None:
        args += ["--prior", prior]
    if case_seed:
        args += ["--case-seed", str(case_seed)]
    if rivals:
        args += ["--rivals", ",".join(rivals)]
    return args + setting_flags(settings)


def setting_flags(settings: Mapping[str, Any] | None) -> list[str]:
    """Returns the flags that change a scenario."""
    args = []
    for key, value in (settings or {}).items():
        args += ["--set", f"{key}={value if isinstance(value, str) else json.dumps(value)}"]
    return args


class Child:
    """A process that plays a vector of environments.

    It ends when this object is closed or collected, and when this process ends, however that comes about. After a fork only
    the process that made it can use it.

    Attributes:
        hello: what the child says of itself: shapes, features, protocol.
        arrays: views of the shared memory by name. They stay valid after close, as long as they are referenced.
    """

    def __init__(self, args: Sequence[str], envs: int, autoreset: str, workers: int = 0) -> None:
        command = [program(), "--quiet", "env", "serve", *args, "--envs", str(envs), "--autoreset", autoreset]
        own, other = socket.socketpair()
        memory = _memory()
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        fds = (other.fileno(), memory)
        command += ["--workers", str(workers), "--socket", str(fds[0]), "--memory", str(fds[1])]
        try:
            # In a session of its own the child does not get the terminal's interrupt, which is for this process.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=fds,
                start_new_session=True,
            )
        except BaseException:
            own.close()
            os.close(memory)
            self._errors.close()
            raise
        finally:
            other.close()
        self._pid, self._socket, self._received, self._unread = os.getpid(), own, b"", 0
        self._end = weakref.finalize(self, _end, self._pid, own, self._process, self._errors)
        _alive.add(self)
        try:
            self.hello: dict[str, Any] = json.loads(self._call(struct.pack("<II", _HELLO, PROTOCOL)))
            mapped = mmap.mmap(memory, self.hello["size"])
        except BaseException:
            self.close()
            raise
        finally:
            os.close(memory)
        self.arrays: dict[str, np.ndarray] = {
            a["name"]: np.ndarray(a["shape"], a["type"], mapped, a["offset"]) for a in self.hello["arrays"]
        }

    def reset(self, seeds: Sequence[int] | np.ndarray, mask: np.ndarray | None = None) -> int:
        """Begins an episode of every environment, or of those that mask selects; returns the slot of their observations."""
        self.arrays["seeds"][:] = seeds
        self.arrays["reset"][:] = 1 if mask is None else mask
        return self._call(struct.pack("<II", _RESET, 0))[0]

    def step(self, joint: bool = False) -> int:
        """Plays a round, by the array "actions" or the array "joint"; returns the slot of the observations."""
        return self._call(_STEPS[joint])[0]

    def picture(self, env: int = 0) -> dict[str, Any]:
        """Returns the schedule of an environment's episode until now."""
        return json.loads(self._call(struct.pack("<II", _RENDER, env)))

    def close(self) -> None:
        """Ends the child."""
        self._end()

    def _call(self, request: bytes) -> bytes:
        if os.getpid() != self._pid:
            raise ClusterGymError(f"this environment was made in process {self._pid}: make another in process {os.getpid()}")
        if not self._end.alive:
            raise ClusterGymError("this environment is closed")
        while self._unread:  # of a request that an exception interrupted
            self._reply()
        try:
            self._socket.sendall(request)
        except OSError:
            raise self._died() from None
        self._unread += 1
        done, content = self._reply()
        if not done:
            raise ClusterGymError(content.decode(errors="replace"))
        return content

    def _reply(self) -> tuple[bool, bytes]:
        """Reads one reply. If an exception interrupts it, what was received is kept for the next call."""
        while True:
            head = self._received[:8]
            if len(head) == 8:
                end = 8 + struct.unpack_from("<I", head, 4)[0]
                if len(self._received) >= end:
                    content, self._received = self._received[8:end], self._received[end:]
                    self._unread -= 1
                    return head[:4] == _DONE, content
            try:
                more = self._socket.recv(1 << 16)
            except OSError:
                more = b""
            if not more:
                raise self._died()
            self._received += more

    def _died(self) -> ClusterGymError:
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            code = None
        self._errors.seek(0)
        said = self._errors.read()[-4096:].decode(errors="replace").strip()
        self.close()
        if said:
            return ClusterGymError(said if code and code > 0 else f"the child ended ({_ending(code)}): {said}")
        return ClusterGymError(f"the child ended ({_ending(code)})")


def _ending(code: int | None) -> str:
    if code is None:
        return "its socket closed"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _memory() -> int:
    """Returns the descriptor of an empty file without a name, whose memory is free again when nobody uses it any longer."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("clustergym")
    with tempfile.TemporaryFile() as f:
        return os.dup(f.fileno())


_alive: weakref.WeakSet[Child] = weakref.WeakSet()


def _end(pid: int, own: socket.socket, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    if os.getpid() != pid:  # a forked process, in which a finaliser runs too
        return
    own.close()
    errors.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _after_fork() -> None:
    # Else the child of a process that ended would live on for as long as a forked process does.
    for child in _alive:
        child._socket.close()


os.register_at_fork(after_in_child=_after_fork)
