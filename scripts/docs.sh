#!/usr/bin/env bash
# write makes the references: of the commands of the program and of the studies in docs/cli, of the Python package, where there is a
# Python, in docs/python-api.md. check fails if they are not what commands and docstrings say.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go} python=${PYTHON:-python3} new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT
mkdir "$new/cli"
"$go" run ./cmd/clustergym gen-docs "$new/cli"
"$go" run -C studies . gen-docs "$new/cli"
if "$python" -c 'import sys; assert sys.version_info >= (3, 10)' 2>/dev/null; then
  "$python" python/api.py "$new/python-api.md"
elif [ "${CI:-}" = true ]; then
  echo "no Python 3.10 or later: docs/python-api.md cannot be made"
  exit 1
else
  echo "*** no Python 3.10 or later: docs/python-api.md IS LEFT AS IT IS ***"
  cp docs/python-api.md "$new/"
fi
case $1 in
write) rm -rf docs/cli && mkdir docs/cli && cp "$new"/cli/*.md docs/cli/ && cat "$new/python-api.md" >docs/python-api.md ;;
check)
  diff -ru docs/cli "$new/cli" || { echo "docs/cli is out of date: run make docs"; exit 1; }
  diff -u docs/python-api.md "$new/python-api.md" || { echo "docs/python-api.md is out of date: run make docs"; exit 1; }
  scripts/attack.sh check
  ;;
esac
