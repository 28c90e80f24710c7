#!/usr/bin/env bash
# Builds bin/wheels for the given platforms (such as linux/amd64), with Go and without cgo.
set -euo pipefail
cd "$(dirname "$0")/.."
most=40000000 # bytes
scripts/python-env.sh
for platform in "$@"; do
  rm -rf python/build
  GOOS=${platform%/*} GOARCH=${platform#*/} bin/python-venv/bin/pip wheel -q --no-deps --no-build-isolation -w bin/wheels ./python
done
for wheel in bin/wheels/*.whl; do
  bytes=$(wc -c <"$wheel")
  echo "$bytes bytes: $wheel"
  [ "$bytes" -gt 5000000 ] && [ "$bytes" -le $most ] || { echo "want the program in it, and at most $most"; exit 1; }
done
