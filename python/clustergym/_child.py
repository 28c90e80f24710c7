"""The child process that plays environments, and the memory that it shares with this one.

The Go package env/envserve documents requests, replies and arrays.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import struct
import subprocess
import sys
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

PROTOCOL = 3
_HELLO, _RESET, _STEP, _RENDER, _ECHO, _SAVE = 1, 2, 3, 4, 5, 6
_STEPS = [struct.pack("<II", _STEP, by) for by in range(2)]
_DONE = bytes(4)
_STEPPED = {struct.pack("<IIII", 0, 8, slot, 0): (slot, 0) for slot in range(2)}  # replies to most steps
_STEP_BYTES = 16  # the length of these
_CHUNK = 1 << 16  # bytes of another reply to read at a time
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


def main() -> None:
    """Becomes the program, with the arguments of this process: the command clustergym that the package installs."""
    try:
        path = program()
    except ClusterGymError as e:
        sys.exit(f"clustergym: {e}")
    os.execv(path, [path, *sys.argv[1:]])


class Child:
    """A process that plays a vector of environments.

    It ends when this object is closed or collected, and when this process ends, however that comes about. After a fork only
    the process that made it can use it.

    Args:
        args: the flags of the environments.
        envs, autoreset, workers: flags of `clustergym env serve`.
        saved: what save of another child with the same arguments returned, to go on from there; empty to begin.

    Attributes:
        hello: what the child says of itself: shapes, features, protocol.
        arrays: views of the shared memory by name. They stay valid after close, as long as they are referenced.
    """

    def __init__(self, args: Sequence[str], envs: int, autoreset: str, workers: int = 0, saved: bytes = b"") -> None:
        command = [program(), "--quiet", "env", "serve", *args, "--envs", str(envs), "--autoreset", autoreset]
        ours, theirs = _pipes()
        memory = _memory(saved)
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        fds = (*theirs, memory)
        command += ["--fds", ",".join(str(fd) for fd in fds)]
        try:
            # In a session of its own the child does not get the terminal's interrupt, which is for this process.
            self._process = subprocess.Popen(
                [*command, "--workers", str(workers)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                pass_fds=fds,
                start_new_session=True,
            )
        except BaseException:
            for pipe in ours:
                pipe.close()
            os.close(memory)
            self._errors.close()
            raise
        finally:
            for fd in theirs:
                os.close(fd)
        self._pid, self._pipes = os.getpid(), ours
        self._write, self._read = ours[0].write, ours[1].read
        self._waits = False  # for a reply; still true after an exception interrupted a call
        self._end = weakref.finalize(self, _end, self._pid, ours, self._process, self._errors)
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
        slot, _ = struct.unpack("<II", self._call(struct.pack("<II", _RESET, 0)))
        return slot

    def step(self, joint: bool = False) -> tuple[int, int]:
        """Plays a round, by the array "actions" or the array "joint".

        Returns:
            the slot of the observations, and how many environments ended an episode and began another.
        """
        # This is _call, without what only takes time in a step.
        try:
            if not self._waits:
                self._waits = True
                self._write(_STEPS[joint])
                reply = self._read(_STEP_BYTES)
                stepped = _STEPPED.get(reply)
                if stepped is not None:
                    self._waits = False
                    return stepped
                content = self._content(reply)
            else:
                content = self._call(_STEPS[joint])
        except (OSError, ValueError):
            raise self._failed() from None
        slot, ended = struct.unpack("<II", content)
        return slot, ended

    def picture(self, env: int = 0) -> dict[str, Any]:
        """Returns the schedule of an environment's episode until now."""
        return json.loads(self._call(struct.pack("<II", _RENDER, env)))

    def save(self) -> bytes:
        """Returns what another child takes as saved, to go on from where this one is."""
        return self._call(struct.pack("<II", _SAVE, 0))

    def close(self) -> None:
        """Ends the child."""
        self._end()

    def _call(self, request: bytes) -> bytes:
        """Sends a request and returns the content of the reply."""
        try:
            if self._waits:
                self._forget()
            self._waits = True
            self._write(request)
            return self._content(self._read(_CHUNK))
        except (OSError, ValueError):  # a pipe is broken or closed
            raise self._failed() from None

    def _content(self, reply: bytes) -> bytes:
        """Reads the rest of a reply and returns its content."""
        while len(reply) < 8 or len(reply) < 8 + struct.unpack_from("<I", reply, 4)[0]:
            reply += self._more()
        self._waits = False
        if reply[:4] != _DONE:
            raise ClusterGymError(reply[8:].decode(errors="replace"))
        return reply[8:]

    def _more(self) -> bytes:
        more = self._read(_CHUNK)
        if not more:
            raise BrokenPipeError
        return more

    def _forget(self) -> None:
        """Ignores the reply to a request that an exception interrupted, if it was sent and as far as the reply was not read."""
        number = os.urandom(4)
        self._write(struct.pack("<I", _ECHO) + number)
        last, received = _DONE + struct.pack("<I", 4) + number, b""
        while not received.endswith(last):
            received = received[-len(last) :] + self._more()

    def _failed(self) -> ClusterGymError:
        """Says why a pipe cannot be used."""
        if os.getpid() != self._pid:
            return ClusterGymError(f"this environment was made in process {self._pid}: make another in process {os.getpid()}")
        if not self._end.alive:
            return ClusterGymError("this environment is closed")
        return self._died()

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
        return "its pipe closed"
    return f"signal {-code}" if code < 0 else f"exit code {code}"


def _pipes() -> tuple[tuple[io.FileIO, io.FileIO], tuple[int, int]]:
    """Returns this process's ends of a pipe for requests and one for replies, and the descriptors of the child's ends."""
    requests, to_child = os.pipe()
    from_child, replies = os.pipe()
    return (io.FileIO(to_child, "wb"), io.FileIO(from_child, "rb")), (requests, replies)


def _memory(content: bytes) -> int:
    """Returns the descriptor of a file without a name, whose memory is free again when nobody uses it any longer."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("clustergym")
    else:
        with tempfile.TemporaryFile() as f:
            fd = os.dup(f.fileno())
    while content:
        content = content[os.write(fd, content) :]
    return fd


_alive: weakref.WeakSet[Child] = weakref.WeakSet()


def _end(pid: int, pipes: Sequence[IO[bytes]], process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
    if os.getpid() != pid:  # a forked process, in which a finaliser runs too
        return
    for pipe in pipes:
        pipe.close()
    errors.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _after_fork() -> None:
    # Else the child of a process that ended would live on for as long as a forked process does.
    for child in _alive:
        for pipe in child._pipes:
            pipe.close()


os.register_at_fork(after_in_child=_after_fork)
