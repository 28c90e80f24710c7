#!/usr/bin/env bash
# Runs every fuzz target for the given time. The go command's fuzzer now and then ends with "context deadline exceeded" when its time
# is up while a worker is busy. That is no finding (a finding names its failing input): such a target runs again, and has to pass then.
set -euo pipefail
cd "$(dirname "$0")/.."
time=$1 ran=0 log=$(mktemp)
trap 'rm -f "$log"' EXIT
run() { "${GO:-go}" test -C "$2" -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 5s . 2>&1 | tee "$log"; }
while IFS=: read -r file target; do
  package=./$(dirname "$file") ran=$((ran + 1))
  echo "fuzz $package $target"
  if ! run "$target" "$package"; then
    grep -q 'context deadline exceeded' "$log" && ! grep -q 'Failing input' "$log" || exit 1
    echo "$target ran out of time while it stopped: again"
    run "$target" "$package"
  fi
done < <(grep -rHoE --include='*_test.go' --exclude-dir='.*' --exclude-dir=testdata '^func Fuzz[A-Za-z0-9_]+' -- * | sed 's/:func /:/' | sort)
[ $ran -gt 0 ] || { echo "no fuzz target found"; exit 1; }
echo "$ran fuzz targets ran for $time each"
