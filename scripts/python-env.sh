#!/usr/bin/env bash
# Makes bin/python-venv, in which the wheel is built and tested, with what its tests need. It is made anew when this file changes.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=bin/python-venv
stamp=$venv/.made-$(sha256sum "$0" | cut -c1-16)
[ ! -e "$stamp" ] || exit 0

packages=(
  'setuptools>=77,<85' 'numpy>=1.26,<3' 'gymnasium>=1.1,<1.5' 'pettingzoo>=1.25,<1.28' 'supersuit>=3.9,<4' 'pandas>=2.2,<4'
  'pytest>=8,<10' 'onnx>=1.17,<2' 'onnxruntime>=1.20,<2' 'tensorboard>=2.18,<3' 'matplotlib>=3.8,<4' 'colorama>=0.4,<1'
)
rm -rf "$venv" && "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/pip" install -q "${packages[@]}"
# marl-eval asks for versions of plotting packages that no longer build. What reads its format needs only numpy and colorama.
"$venv/bin/pip" install -q --no-deps id-marl-eval==0.0.4
touch "$stamp"
