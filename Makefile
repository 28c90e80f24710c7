# The commands of daily work. `make help` lists them; .ci/run runs what `make check` runs.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 10s
SOAK     ?= 10m
RACEFLAGS ?= # for example -short

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
LDFLAGS := -X main.version=$(VERSION)

GOLANGCI_VERSION := v2.15.0
GOLANGCI := bin/golangci-lint-$(GOLANGCI_VERSION)

# Nested modules that build on this one.
NESTED := $(patsubst %/go.mod,%,$(wildcard examples/go.mod))

.PHONY: help build test race soak fuzz lint fmt check check-rest bench torch golden quickstart results results-check docs docs-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/clustergym
	$(GO) build -ldflags '$(LDFLAGS)' -o bin/clustergym ./cmd/clustergym

test: ## run all tests, those of the examples too
	$(GO) test ./...
	@for dir in $(NESTED); do (cd $$dir && echo "$$dir:" && $(GO) vet ./... && $(GO) test ./...); done

race: ## run the tests under the race detector
	$(GO) test -race -timeout 30m $(RACEFLAGS) ./...

soak: ## play random episodes of all kinds for SOAK (10m)
	$(GO) test ./env/sim -run '^TestRandomEpisodes$$' -v -timeout 0 -soak $(SOAK)

# The go command's fuzzer now and then ends with "context deadline exceeded" when its time is up while a worker is busy. That
# is no finding (a finding names its failing input): such a target runs again, and has to pass then.
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@ran=0; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	run() { $(GO) test -run '^$$' -fuzz "^$$1\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s "$$2" 2>&1 | tee "$$log"; }; \
	while IFS=: read -r file target; do \
	  package=./$$(dirname "$$file"); ran=$$((ran + 1)); \
	  echo "fuzz $$package $$target"; \
	  if ! run "$$target" "$$package"; then \
	    grep -q 'context deadline exceeded' "$$log" && ! grep -q 'Failing input' "$$log" || exit 1; \
	    echo "$$target ran out of time while it stopped: again"; run "$$target" "$$package"; \
	  fi; \
	done < <(grep -rHoE --include='*_test.go' --exclude-dir='.*' --exclude-dir=testdata $(NESTED:%=--exclude-dir=%) \
	    '^func Fuzz[A-Za-z0-9_]+' * | sed 's/:func /:/' | sort); \
	if [ $$ran -eq 0 ]; then echo "no fuzz target found"; exit 1; fi; \
	echo "$$ran fuzz targets ran for $(FUZZTIME) each"

lint: $(GOLANGCI) ## run go vet and golangci-lint
	$(GO) vet ./...
	$(GOLANGCI) run ./...

$(GOLANGCI):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@

fmt: ## format the code
	gofmt -l -w .

check: test check-rest ## everything that CI runs

check-rest: race fuzz lint docs-check results-check

bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...

# Debian's python3-torch is for Debian's python3. TAGS=openblas builds the Go side with OpenBLAS.
TORCH_PYTHON ?= /usr/bin/python3
torch: ## time a training step beside PyTorch, if it is there
	$(TORCH_PYTHON) agents/learn/torch/step.py --tags "$(TAGS)"

golden: ## compare the heuristics with the exact schedules
	$(GO) test ./baselines -run Golden -v

quickstart: build ## build, then train and compare a small policy
	bin/clustergym quickstart

# What the README's table shows. Traces that are not there make it fail, in CI, or leave the table unchecked.
RESULTS := --scenario venus-contended-v1,philly-contended-v1,mixed-load110-weak-moldable-v1,loaning-venus-v1 \
  --policies fifo,las,srtf,a-srpt,lyra+loan,sjfskip:place=compact,sjfskip+menu,prior
PLAY := bin/clustergym eval -q $(RESULTS) --figures none --out runs/results --markdown

results: build ## play what the README's table shows, and write it there
	@table=$$(mktemp); trap 'rm -f "$$table"' EXIT; $(PLAY) > "$$table"; \
	awk -v table="$$table" '/<!-- end of results -->/ {skip = 0} !skip {print} \
	  /<!-- results -->/ {skip = 1; while ((getline line < table) > 0) print line}' README.md > README.md.new; \
	mv README.md.new README.md

results-check: build ## fail if the README's table is not what its command prints
	@if [ ! -d "$${CLUSTERGYM_SHARED:-../shared}/traces" ] && [ "$${CI:-}" != true ]; then \
	  echo "results-check: no traces in $${CLUSTERGYM_SHARED:-../shared}, the README's table is not checked"; exit 0; \
	fi; \
	table=$$(mktemp); trap 'rm -f "$$table"' EXIT; $(PLAY) > "$$table"; \
	awk '/<!-- end of results -->/ {show = 0} show {print} /<!-- results -->/ {show = 1}' README.md | diff "$$table" - \
	  || { echo "the README's results are out of date: run make results"; exit 1; }

docs: ## write the command reference to docs/cli
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(GO) run ./cmd/clustergym gen-docs "$$tmp" && rm -rf docs/cli && mkdir docs/cli && cp "$$tmp"/*.md docs/cli/

docs-check: ## fail if docs/cli is not what the commands say
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	$(GO) run ./cmd/clustergym gen-docs "$$tmp"; \
	diff -ru docs/cli "$$tmp" || { echo "docs/cli is out of date: run make docs"; exit 1; }

clean: ## remove what the targets built
	rm -rf bin
