#!/usr/bin/env bash
# The tests that docs/reliability.md names, one a line: package and name. run runs them, and one that is skipped counts as failed;
# check only looks whether they exist. make test runs them among all others.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
tests=$(grep -oE '`[a-z/-]+ Test[A-Za-z0-9]+`' docs/reliability.md | tr -d '`' | sort -u)
[ -n "$tests" ] || { echo "docs/reliability.md names no test"; exit 1; }

check() {
  while read -r package name; do
    grep -qE "^func $name\(" "$package"/*_test.go || { echo "docs/reliability.md: $package has no test $name"; exit 1; }
  done <<<"$tests"
}

run() {
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  for package in $(cut -d' ' -f1 <<<"$tests" | uniq); do
    names=$(awk -v p="$package" '$1 == p {print $2}' <<<"$tests")
    echo "$package:" $names
    "$go" test -C "$package" -count=1 -v -run "^($(paste -sd'|' <<<"$names"))$" . >"$log" 2>&1 || { cat "$log"; exit 1; }
    for name in $names; do
      grep -q "^--- PASS: $name " "$log" || { echo "$package $name: no such test, or it was skipped"; exit 1; }
    done
  done
  echo "$(wc -l <<<"$tests") tests passed"
}

"$1"
