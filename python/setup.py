"""Builds a wheel that contains the program, for the platform that GOOS and GOARCH name, with Go."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent

# The tags of platforms. The program is static, so the C library of a Linux does not matter. Go 1.26 needs macOS 12.
PLATFORMS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
}


def said(*command: str) -> str:
    return subprocess.run(command, cwd=HERE, check=True, capture_output=True, text=True).stdout.strip()


def platform() -> str:
    key = tuple(said("go", "env", "GOOS", "GOARCH").split())
    if key not in PLATFORMS:
        raise SystemExit(f"no wheel for {'/'.join(key)}, want one of {', '.join('/'.join(k) for k in PLATFORMS)}")
    return PLATFORMS[key]


def revision() -> str:
    """Returns what git says of the checkout; outside one, "unknown"."""
    try:
        return said("git", "describe", "--tags", "--always", "--dirty")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def version() -> str:
    """Returns the version of the last tag, v1.2.3, with the commits since, or 0 with the commit."""
    tagged = re.fullmatch(r"v(\d+(?:\.\d+)*)(?:-(\d+)-g(\w+))?(-dirty)?", revision())
    if tagged:
        number, since, commit, _ = tagged.groups()
        return number + (f".post{since}+g{commit}" if since else "")
    return "0+" + (re.sub(r"[^A-Za-z0-9]+", ".", revision()).strip(".") or "unknown")


class Build(build_py):
    """Compiles the program into the package."""

    def run(self) -> None:
        super().run()
        target = Path(self.build_lib).resolve() / "clustergym" / "bin" / "clustergym"
        ldflags = f"-s -w -X github.com/clustergym/clustergym/cli.version={revision()}"
        command = ["go", "build", "-trimpath", "-ldflags", ldflags, "-o", str(target), "./cmd/clustergym"]
        subprocess.run(command, cwd=HERE.parent, check=True, env={**os.environ, "CGO_ENABLED": "0"})


class Wheel(bdist_wheel):
    """Names the wheel for any Python 3 on one platform."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", platform()


setup(version=version(), cmdclass={"build_py": Build, "bdist_wheel": Wheel})
