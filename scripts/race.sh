#!/usr/bin/env bash
# Runs tests under the race detector, with the given flags of go test. Only packages whose code or tests start goroutines can have
# races of their own; what they call is watched with them.
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
mapfile -t dirs < <(git ls-files '*.go' | grep -v '^\(examples\|studies\|cmd/clustergym-kube\|python\)/' |
  xargs grep -lE '^[[:space:]]*go (func|[A-Za-z_.]+\()|errgroup\.|sync\.WaitGroup|t\.Parallel\(\)' | xargs -n1 dirname | sort -u | sed 's|^|./|')
"$go" test -race -timeout 30m "$@" "${dirs[@]}"
"$go" test -C studies -race -timeout 30m "$@" ./reproduce
mapfile -t dirs < <("$go" list -C cmd/clustergym-kube ./... | grep -v '/e2e$')
"$go" test -C cmd/clustergym-kube -race -timeout 30m "$@" "${dirs[@]}"
