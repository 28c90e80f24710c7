#!/usr/bin/env bash
# Tests the Python package as the wheel that is installed: in an environment of its own, beside what its tests need.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
rm -rf bin/wheels
scripts/wheel.sh "$("$go" env GOOS)/$("$go" env GOARCH)"
bin/python-venv/bin/pip install -q --no-deps --force-reinstall bin/wheels/*.whl
bin/python-venv/bin/pytest -q -rs -p no:cacheprovider python
