#!/usr/bin/env bash
# Runs the tests of all modules with the given flags of go test, and those of the Python package where there is a Python. In its last
# lines it lists what skipped tests need. Packages are built once, for tests and for the wheel.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD go=${GO:-go} python=${PYTHON:-python3}
export CGO_ENABLED=0 GOFLAGS="${GOFLAGS:-} -trimpath"

gotestsum=("$go" run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-hide-empty-pkg)
[ $# -eq 0 ] || gotestsum+=(--hide-summary=skipped) # short tests skip much

rm -rf bin/tests && mkdir -p bin/tests
failed=
for dir in . examples studies cmd/clustergym-kube; do
  echo "$dir:"
  log=$root/bin/tests/$(basename "$(realpath "$dir")").json
  [ "$dir" = . ] || "$go" vet -C "$dir" ./... || failed+=" $dir(vet)"
  (cd "$dir" && "${gotestsum[@]}" --jsonfile "$log" -- -timeout 30m "$@" ./...) || failed+=" $dir"
done
if "$python" -c 'import ensurepip, sys; assert sys.version_info >= (3, 10)' 2>/dev/null; then
  scripts/python-test.sh || failed+=" python"
else
  echo '"needs Python 3.10 or later with venv: apt-get install python3 python3-venv' >bin/tests/python.json
  [ "${CI:-}" != true ] || failed+=" python"
fi
if missing=$(grep -hoE 'needs [^:"\\]+: [^"\\]+' bin/tests/*.json); then
  echo "Tests that were skipped, what they need, and the command that brings it:"
  sort <<<"$missing" | uniq -c
fi
[ -z "$failed" ] || { echo "FAILED:$failed"; exit 1; }
