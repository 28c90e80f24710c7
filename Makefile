# The commands of daily work. `make help` lists them; .ci/run runs what `make check` runs. Long ones are scripts in scripts/.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO          ?= go
PYTHON      ?= python3
export GO PYTHON

TESTFLAGS   ?= -short
RACEFLAGS   ?= # for example -short
E2EFLAGS    ?= # for example -run Leader
FUZZTIME    ?= 10s
KILLS       ?= 200
LOAD        ?= 2m
SOAK        ?= 10m
FAULTS      ?= 100000
FAULTS_FROM ?= 0
API_FAULTS  ?= 2000
API_FROM    ?= 0
WHEELS      ?= linux/amd64 linux/arm64 darwin/arm64

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOLANGCI := bin/golangci-lint-v2.15.0
KUBE     := cmd/clustergym-kube
STUDIES  := bin/clustergym-studies

# Of the same bytes on every machine: the toolchain is this one, whose digest go.sum's database knows, and the module's go.sum has
# the digests of all else. The image contains nothing but this file.
IMAGE_GO   := go1.26.8
IMAGE_ARCH ?= amd64

CHECKS := long race fuzz lint attack docs-check results-check

# All targets but the linter are names of actions, not of files.
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/clustergym
	$(GO) build -ldflags '-X github.com/clustergym/clustergym/cli.version=$(VERSION)' -o bin/clustergym ./cmd/clustergym
studies: ## build bin/clustergym-studies, which fits, reproduces and plays experiments
	$(GO) build -C studies -o $(CURDIR)/$(STUDIES) .
kube: ## build bin/clustergym-kube
	$(GO) build -C $(KUBE) -ldflags '-X main.version=$(VERSION)' -o $(CURDIR)/bin/clustergym-kube .
kube-image: ## build bin/image/clustergym-kube, the only file of the image that deploy/Dockerfile makes
	CGO_ENABLED=0 GOOS=linux GOARCH=$(IMAGE_ARCH) GOTOOLCHAIN=$(IMAGE_GO) GOFLAGS=-mod=readonly GOAMD64=v1 GOEXPERIMENT= \
	  $(GO) build -C $(KUBE) -trimpath -buildvcs=false -ldflags '-s -w -buildid= -X main.version=$(VERSION)' \
	  -o $(CURDIR)/bin/image/clustergym-kube .
	sha256sum bin/image/clustergym-kube
wheel: ## build bin/wheels for the platforms WHEELS, with Go and without cgo
	scripts/wheel.sh $(WHEELS)
dist: ## build a release in bin/dist: programs, lists of what they are built from, wheels, checksums
	WHEELS='$(WHEELS)' scripts/dist.sh build
dist-check: ## fail unless bin/dist holds what make dist would build again, and lists every module that is built in
	scripts/dist.sh check
release: build ## train the released policy by its recipe, for hours, and put it in place
	scripts/release.sh
release-smoke: build ## try what release does on a small scenario, within a minute
	scripts/release.sh smoke

quickstart: build ## build, then train and compare a small policy
	bin/clustergym quickstart
data: build ## get the public traces into ../shared, or into the folder of CLUSTERGYM_SHARED
	bin/clustergym trace fetch
onnxruntime: ## install ONNX Runtime and all else that tests use from Python into bin/python-venv
	scripts/python-env.sh
kubeassets: ## build the Kubernetes that tests run against
	scripts/kubeassets.sh

test: ## run all tests, long campaigns in their short form, and say which ones need something that is missing
	@scripts/test.sh $(TESTFLAGS)
long: ## run all tests, long campaigns in full
	@scripts/test.sh
python-test: ## test the Python package: build its wheel, install it into bin/python-venv, run pytest
	scripts/python-test.sh
race: ## run the tests of all packages that start goroutines under the race detector
	scripts/race.sh $(RACEFLAGS)
attack: ## run the tests of what an attack found: docs/reliability.md names them
	@scripts/attack.sh run
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@scripts/fuzz.sh $(FUZZTIME)
lint: $(GOLANGCI) ## run go vet and golangci-lint
	for dir in . studies $(KUBE); do (cd $$dir && $(GO) vet ./... && $(CURDIR)/$(GOLANGCI) run ./...); done
$(GOLANGCI):
	GOBIN=$(CURDIR)/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(lastword $(subst -, ,$@))
	mv bin/golangci-lint $@
fmt: ## format the code
	gofmt -l -w .
vuln: ## look the modules and the toolchain up in the Go vulnerability database, or in a copy that GOVULNDB names
	for dir in . studies examples $(KUBE); do (cd $$dir && $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...); done
check: $(CHECKS) ## everything that CI runs
checks: # prints what check runs; .ci/run times each
	@echo $(CHECKS)

kills: ## kill learner, workers and broker of a training KILLS (200) times: the same bytes as undisturbed
	$(GO) test ./cli -run '^TestKills$$' -v -count=1 -timeout 0 -kills $(KILLS)
load: ## ask clustergym serve by 64 clients for LOAD (2m) without hostile requests, and for LOAD with 1 % of them
	$(GO) test ./serve -run '^$$' -bench HostileClients -benchtime 1x -timeout 0 -load $(LOAD)
soak: ## play random episodes of all kinds for SOAK (10m), and let the scheduler for Kubernetes meet FAULTS (100000)
	$(GO) test ./env/sim -run '^TestRandomEpisodes$$' -v -timeout 0 -soak $(SOAK)
	$(GO) test -C $(KUBE)/control . -run '^TestSoak$$' -v -count=1 -timeout 0 -faults $(FAULTS) -faults.from $(FAULTS_FROM)
soak-api: kubeassets ## let the scheduler for Kubernetes meet API_FAULTS (2000) faults on a real API server
	$(GO) test -C $(KUBE)/control . -run '^TestSoakOnServer$$' -v -count=1 -timeout 0 -server.faults $(API_FAULTS) -server.faults.from $(API_FROM)
e2e: kubeassets ## try the scheduler for Kubernetes end to end
	$(GO) test -C $(KUBE) ./e2e -v -count 1 -timeout 180m -window=long -faults=long $(E2EFLAGS)

bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) test -C studies -run '^$$' -bench . -benchmem ./...
onnx-bench: onnxruntime ## time the forward pass beside ONNX Runtime
	$(GO) test ./agents -run '^$$' -bench BesideONNX -benchtime 1x
kube-bench: kubeassets ## time rounds, and binding beside kube-scheduler
	$(GO) test -C $(KUBE) ./control -run '^$$' -bench Round -benchtime 100x
	$(GO) test -C $(KUBE) ./e2e -run '^$$' -bench Throughput -benchtime 1x
torch: ## time a training step beside Debian's python3-torch; TAGS=openblas builds the Go side with OpenBLAS
	/usr/bin/python3 agents/learn/torch/step.py --tags "$(TAGS)"

docs: ## write the references: of commands to docs/cli, of the Python package to docs/python-api.md
	scripts/docs.sh write
docs-check: ## fail if the references are not what commands and docstrings say
	scripts/docs.sh check
recording: ## draw docs/img/tour.svg from what the README's tour prints, which go test ./cli -run Tour compares with the commands
	$(GO) test ./internal/recording -update
site: ## build the documentation as a site in bin/site, and fail on a broken link
	scripts/site.sh build
site-check: ## look at the site in Chromium: no request, no page too wide, contrast, labels, keyboard, search
	scripts/site.sh check
results: build studies ## play the tables that need no training, and write them to README.md, docs and studies
	$(STUDIES) experiment run policies told learned bench-v2
results-check: build studies ## fail if the tables of README.md and docs/policies.md are not what their commands print
	$(STUDIES) experiment check policies

clean: ## remove what the targets built
	rm -rf bin
