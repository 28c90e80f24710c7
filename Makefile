# The commands of daily work. `make help` lists them; .ci/run runs what `make check` runs.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
FUZZTIME ?= 10s
SOAK     ?= 10m
FAULTS   ?= 100000
FAULTS_FROM ?= 0
API_FAULTS ?= 2000
API_FROM ?= 0
RACEFLAGS ?= # for example -short

TESTFLAGS ?= -short
GOTESTSUM := $(GO) run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-hide-empty-pkg $(if $(TESTFLAGS),--hide-summary=skipped)

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

GOLANGCI_VERSION := v2.15.0
GOLANGCI := bin/golangci-lint-$(GOLANGCI_VERSION)

# Nested modules that build on this one, and the one for Kubernetes among them.
KUBE   := cmd/clustergym-kube
NESTED := examples studies $(KUBE)

# The Kubernetes that tests run against, as the go.mod of its module asks.
KUBEASSETS := bin/kube
KUBEASSETS_SOURCE := $(addprefix $(KUBE)/kubeassets/,go.mod go.sum main.go)
KUBEASSETS_STAMP := $(KUBEASSETS)/.built-$(shell cat $(KUBEASSETS_SOURCE) | sha256sum | cut -c1-16)
E2EFLAGS ?= # for example -run Leader

# The Python package is tested as the wheel that is installed into an environment of its own, beside what it needs.
PYTHON      ?= python3
PYTHON_VENV := bin/python-venv
PYTHON_PACKAGES := setuptools>=77,<85 numpy>=1.26,<3 gymnasium>=1.1,<1.5 pettingzoo>=1.25,<1.28 supersuit>=3.9,<4 pandas>=2.2,<4 \
  pytest>=8,<10 onnx>=1.17,<2 onnxruntime>=1.20,<2 tensorboard>=2.18,<3 matplotlib>=3.8,<4 colorama>=0.4,<1
# marl-eval asks for versions of plotting packages that no longer build. What reads its format needs only numpy and colorama.
PYTHON_ALONE := id-marl-eval==0.0.4
PYTHON_STAMP := $(PYTHON_VENV)/.made-$(shell echo '$(PYTHON_PACKAGES) $(PYTHON_ALONE)' | sha256sum | cut -c1-16)
WHEELS      ?= linux/amd64 linux/arm64 darwin/arm64
WHEEL_BYTES := 40000000

.PHONY: help build studies test long race attack kills load soak soak-api fuzz lint fmt check checks bench onnxruntime onnx-bench kube kube-image \
  vuln kubeassets e2e beside kube-bench torch golden quickstart results readme recording a-srpt know bench-table results-check proof ablations \
  reinforced untold yardsticks release release-smoke wheel python-test docs dist dist-programs dist-check site site-check data \
  docs-check clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/clustergym
	$(GO) build -ldflags '-X github.com/clustergym/clustergym/cli.version=$(VERSION)' -o bin/clustergym ./cmd/clustergym

studies: ## build bin/clustergym-studies, which fits and reproduces
	cd studies && $(GO) build -o $(CURDIR)/bin/clustergym-studies .

# Packages are built once, for tests and for the wheel.
test: export CGO_ENABLED := 0
test: export GOFLAGS := $(GOFLAGS) -trimpath
test: ## run all tests, long campaigns in their short form, and say which ones need something that is missing
	@rm -rf bin/tests && mkdir -p bin/tests; failed=; \
	for dir in . $(NESTED); do \
	  echo "$$dir:"; log=$(CURDIR)/bin/tests/$$(basename $$(realpath $$dir)).json; \
	  { [ $$dir = . ] || $(GO) vet -C $$dir ./...; } && (cd $$dir && $(GOTESTSUM) --jsonfile "$$log" -- -timeout 30m $(TESTFLAGS) ./...) || failed+=" $$dir"; \
	done; \
	if $(PYTHON) -c 'import ensurepip, sys; assert sys.version_info >= (3, 10)' 2>/dev/null; then \
	  $(MAKE) python-test || failed+=" python"; \
	else \
	  echo '"needs Python 3.10 or later with venv: apt-get install python3 python3-venv' > bin/tests/python.json; \
	  [ "$${CI:-}" != true ] || failed+=" python"; \
	fi; \
	if missing=$$(grep -hoE 'needs [^:"\\]+: [^"\\]+' bin/tests/*.json); then \
	  echo "Tests that were skipped, what they need, and the command that brings it:"; sort <<< "$$missing" | uniq -c; \
	fi; \
	[ -z "$$failed" ] || { echo "FAILED:$$failed"; exit 1; }

long: ## run all tests, long campaigns in full
	$(MAKE) test TESTFLAGS=

wheel: $(PYTHON_STAMP) ## build bin/wheels for the platforms WHEELS, with Go and without cgo
	@for platform in $(WHEELS); do \
	  rm -rf python/build && GOOS=$${platform%/*} GOARCH=$${platform#*/} \
	    $(PYTHON_VENV)/bin/pip wheel -q --no-deps --no-build-isolation -w bin/wheels ./python; \
	done; \
	for wheel in bin/wheels/*.whl; do \
	  bytes=$$(wc -c < "$$wheel"); echo "$$bytes bytes: $$wheel"; \
	  [ "$$bytes" -gt 5000000 ] && [ "$$bytes" -le $(WHEEL_BYTES) ] || { echo "want the program in it, and at most $(WHEEL_BYTES)"; exit 1; }; \
	done

# A release: archives of the program for DIST_PLATFORMS without cgo, what each is built from (CycloneDX), wheels and checksums.
# Equal commits give equal bytes: times are those of the commit, and paths of this machine are left out.
DIST_PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
DIST           ?= bin/dist
CYCLONEDX      := $(GO) run github.com/CycloneDX/cyclonedx-gomod/cmd/cyclonedx-gomod@v1.10.0
dist_build = CGO_ENABLED=0 GOOS=$(1) GOARCH=$(2) $(GO) build -trimpath -buildvcs=false \
  -ldflags '-s -w -buildid= -X github.com/clustergym/clustergym/cli.version=$(VERSION)' -o $(3) ./cmd/clustergym
dist_tar = tar --sort=name --mtime=@$$(git log -1 --format=%ct) --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX -cf - -C $(1) . \
  | gzip -n -9

dist: dist-programs ## build a release in bin/dist: programs, lists of what they are built from, wheels, checksums
	$(MAKE) wheel && cp bin/wheels/*.whl $(DIST)/
	cd $(DIST) && sha256sum *.tar.gz *.json *.whl > SHA256SUMS

dist-programs:
	rm -rf $(DIST) && mkdir -p $(DIST)
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	for platform in $(DIST_PLATFORMS); do \
	  os=$${platform%/*} arch=$${platform#*/} name=clustergym-$(VERSION)-$${platform%/*}-$${platform#*/}; \
	  rm -rf "$$work"/* && mkdir "$$work/$$name" && cp LICENSE README.md CHANGELOG.md "$$work/$$name"; \
	  $(call dist_build,$$os,$$arch,"$$work/$$name/clustergym"); \
	  $(CYCLONEDX) bin -json -std -noserial -notimestamp -version $(VERSION) -output $(DIST)/$$name.cdx.json "$$work/$$name/clustergym" 2>"$$work/log" \
	    || { cat "$$work/log"; exit 1; }; \
	  $(call dist_tar,"$$work" --exclude=./log) > $(DIST)/$$name.tar.gz; \
	  echo "$$(wc -c < $(DIST)/$$name.tar.gz) bytes: $(DIST)/$$name.tar.gz"; \
	done
	cd $(DIST) && sha256sum *.tar.gz *.json > SHA256SUMS

dist-check: ## fail unless bin/dist holds what make dist would build again, and lists every module that is built in
	cd $(DIST) && sha256sum --quiet -c SHA256SUMS
	@work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	platform=$$($(GO) env GOOS)-$$($(GO) env GOARCH); name=clustergym-$(VERSION)-$$platform; \
	tar -xzf $(DIST)/$$name.tar.gz -C "$$work"; \
	"$$work/$$name/clustergym" version | grep -qF "clustergym $(VERSION) " || { echo "$$name: wrong version"; exit 1; }; \
	$(call dist_build,$${platform%-*},$${platform#*-},"$$work/again"); \
	cmp "$$work/again" "$$work/$$name/clustergym"; \
	$(GO) version -m "$$work/again" | awk '$$1 == "dep" {print "pkg:golang/" $$2 "@" $$3}' > "$$work/built"; \
	[ -s "$$work/built" ]; \
	while read -r module; do \
	  grep -qF "$$module" $(DIST)/$$name.cdx.json || { echo "$$name.cdx.json lacks $$module"; exit 1; }; \
	done < "$$work/built"; \
	echo "$$name: the same bytes again, and all of its $$(wc -l < "$$work/built") modules are listed"

python-test: ## test the Python package: build its wheel, install it into bin/python-venv, run pytest
	rm -rf bin/wheels
	$(MAKE) wheel WHEELS="$$($(GO) env GOOS)/$$($(GO) env GOARCH)"
	$(PYTHON_VENV)/bin/pip install -q --no-deps --force-reinstall bin/wheels/*.whl
	$(PYTHON_VENV)/bin/pytest -q -rs -p no:cacheprovider python

$(PYTHON_STAMP):
	rm -rf $(PYTHON_VENV) && $(PYTHON) -m venv $(PYTHON_VENV)
	$(PYTHON_VENV)/bin/pip install -q $(foreach p,$(PYTHON_PACKAGES),'$(p)')
	$(PYTHON_VENV)/bin/pip install -q --no-deps $(PYTHON_ALONE)
	touch $@

# Only packages whose code or tests start goroutines can have races of their own; what they call is watched with them.
race_dirs = git ls-files '*.go' | grep -v '^\(examples\|studies\|cmd/clustergym-kube\|python\)/' \
  | xargs grep -lE '^[[:space:]]*go (func|[A-Za-z_.]+\()|errgroup\.|sync\.WaitGroup|t\.Parallel\(\)' | xargs -n1 dirname | sort -u | sed 's|^|./|'
race: ## run the tests of all packages that start goroutines under the race detector
	$(GO) test -race -timeout 30m $(RACEFLAGS) $$($(race_dirs))
	cd studies && $(GO) test -race -timeout 30m $(RACEFLAGS) ./reproduce
	cd $(KUBE) && $(GO) test -race -timeout 30m $(RACEFLAGS) $$($(GO) list ./... | grep -v '/e2e$$')

# The tests that docs/reliability.md names, one a line: package and name. make test, and with it .ci/run, runs them among all others:
# make attack is a shortcut. A test that is skipped counts as failed here.
attacks = grep -oE '`[a-z/-]+ Test[A-Za-z0-9]+`' docs/reliability.md | tr -d '`' | sort -u
attack: ## run the tests of what an attack found: docs/reliability.md names them
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; ran=0; \
	for package in $$($(attacks) | cut -d' ' -f1 | uniq); do \
	  names=$$($(attacks) | awk -v p=$$package '$$1 == p {print $$2}'); echo "$$package:" $$names; \
	  $(GO) test -C "$$package" -count=1 -v -run "^($$(echo $$names | tr ' ' '|'))$$" . > "$$log" 2>&1 || { cat "$$log"; exit 1; }; \
	  for name in $$names; do \
	    grep -q "^--- PASS: $$name " "$$log" || { echo "$$package $$name: no such test, or it was skipped"; exit 1; }; \
	    ran=$$((ran + 1)); \
	  done; \
	done; \
	[ $$ran -gt 0 ] || { echo "docs/reliability.md names no test"; exit 1; }; \
	echo "$$ran tests passed"

KILLS ?= 200
kills: ## kill learner, workers and broker of a training KILLS (200) times: the same bytes as undisturbed
	$(GO) test ./cli -run '^TestKills$$' -v -count=1 -timeout 0 -kills $(KILLS)

LOAD ?= 2m
load: ## ask clustergym serve by 64 clients for LOAD (2m) without hostile requests, and for LOAD with 1 % of them
	$(GO) test ./serve -run '^$$' -bench HostileClients -benchtime 1x -timeout 0 -load $(LOAD)

soak: ## play random episodes of all kinds for SOAK (10m), and let the scheduler for Kubernetes meet FAULTS (100000)
	$(GO) test ./env/sim -run '^TestRandomEpisodes$$' -v -timeout 0 -soak $(SOAK)
	$(GO) test -C $(KUBE)/control . -run '^TestSoak$$' -v -count=1 -timeout 0 -faults $(FAULTS) -faults.from $(FAULTS_FROM)

soak-api: kubeassets ## let the scheduler for Kubernetes meet API_FAULTS (2000) faults on a real API server
	$(GO) test -C $(KUBE)/e2e . -run '^TestSoak$$' -v -count=1 -timeout 0 -soak $(API_FAULTS) -soak.from $(API_FROM)

# The go command's fuzzer now and then ends with "context deadline exceeded" when its time is up while a worker is busy. That
# is no finding (a finding names its failing input): such a target runs again, and has to pass then.
fuzz: ## run every fuzz target for FUZZTIME (10s)
	@ran=0; log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	run() { $(GO) test -C "$$2" -run '^$$' -fuzz "^$$1\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 5s . 2>&1 | tee "$$log"; }; \
	while IFS=: read -r file target; do \
	  package=./$$(dirname "$$file"); ran=$$((ran + 1)); \
	  echo "fuzz $$package $$target"; \
	  if ! run "$$target" "$$package"; then \
	    grep -q 'context deadline exceeded' "$$log" && ! grep -q 'Failing input' "$$log" || exit 1; \
	    echo "$$target ran out of time while it stopped: again"; run "$$target" "$$package"; \
	  fi; \
	done < <(grep -rHoE --include='*_test.go' --exclude-dir='.*' --exclude-dir=testdata \
	    '^func Fuzz[A-Za-z0-9_]+' * | sed 's/:func /:/' | sort); \
	if [ $$ran -eq 0 ]; then echo "no fuzz target found"; exit 1; fi; \
	echo "$$ran fuzz targets ran for $(FUZZTIME) each"

lint: $(GOLANGCI) ## run go vet and golangci-lint
	@for dir in . studies $(KUBE); do (cd $$dir && echo "$$dir:" && $(GO) vet ./... && $(CURDIR)/$(GOLANGCI) run ./...); done

$(GOLANGCI):
	@mkdir -p bin
	GOBIN=$(CURDIR)/bin GOFLAGS= $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv bin/golangci-lint $@

fmt: ## format the code
	gofmt -l -w .

CHECKS := long race fuzz lint attack docs-check results-check
check: $(CHECKS) ## everything that CI runs

checks: # prints what check runs; .ci/run times each
	@echo $(CHECKS)

bench: ## run all benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...
	cd studies && $(GO) test -run '^$$' -bench . -benchmem ./...

onnxruntime: $(PYTHON_STAMP) ## install ONNX Runtime and all else that tests use from Python into bin/python-venv

kube: ## build bin/clustergym-kube
	cd $(KUBE) && $(GO) build -ldflags '-X main.version=$(VERSION)' -o $(CURDIR)/bin/clustergym-kube .

# Of the same bytes on every machine: the toolchain is this one, whose digest go.sum's database knows, and the module's go.sum has
# the digests of all else. The image contains nothing but this file.
IMAGE_GO   := go1.26.8
IMAGE_ARCH ?= amd64
kube-image: ## build bin/image/clustergym-kube, the only file of the image that deploy/Dockerfile makes
	cd $(KUBE) && CGO_ENABLED=0 GOOS=linux GOARCH=$(IMAGE_ARCH) GOTOOLCHAIN=$(IMAGE_GO) GOFLAGS=-mod=readonly GOAMD64=v1 GOEXPERIMENT= \
	  $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -buildid= -X main.version=$(VERSION)' -o $(CURDIR)/bin/image/clustergym-kube .
	sha256sum bin/image/clustergym-kube

# It needs the Go vulnerability database: that of vuln.go.dev, or a copy that GOVULNDB names.
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0
vuln: ## look the modules and the toolchain up in the Go vulnerability database
	for dir in . studies examples $(KUBE); do (cd $$dir && $(GO) run $(GOVULNCHECK) ./...) || exit 1; done

kubeassets: $(KUBEASSETS_STAMP) ## build the Kubernetes that tests run against

# One file is all the programs of Kubernetes, by the name it is called by. KWOK is the module's tool; what it is told to do with
# nodes and pods comes from the folder of its module.
$(KUBEASSETS_STAMP):
	mkdir -p $(KUBEASSETS) && rm -rf $(KUBEASSETS)/stages $(KUBEASSETS)/.built-*
	cd $(KUBE)/kubeassets && version=$$($(GO) list -m -f '{{.Version}}' k8s.io/kubernetes) && \
	  $(GO) build -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$version" \
	    -o $(CURDIR)/$(KUBEASSETS)/ . tool
	for name in etcd kube-apiserver kube-controller-manager kube-scheduler kubectl helm; do \
	  ln -sf kubeassets $(KUBEASSETS)/$$name; \
	done
	stages=$$(cd $(KUBE)/kubeassets && $(GO) list -m -f '{{.Dir}}' sigs.k8s.io/kwok)/kustomize/stage && \
	  install -D -m 644 -t $(KUBEASSETS)/stages "$$stages"/{node/fast,node/heartbeat-with-lease,pod/fast}/*-*.yaml
	touch $@

# Kueue needs another version of Kubernetes, and so a module of its own, from whose folder the definitions of its resources come. To
# build it takes several minutes, so that CI does without.
$(KUBEASSETS)/kueue.yaml: $(addprefix $(KUBE)/kubeassets/kueue/,go.mod go.sum) | kubeassets
	cd $(KUBE)/kubeassets/kueue && $(GO) build -trimpath -ldflags '-s -w' -o $(CURDIR)/$(KUBEASSETS)/ tool
	resources=$$(cd $(KUBE)/kubeassets/kueue && $(GO) list -m -f '{{.Dir}}' sigs.k8s.io/kueue)/config/components/crd && \
	  $(KUBEASSETS)/kubectl kustomize "$$resources" > $@.new && mv $@.new $@

beside: $(KUBEASSETS)/kueue.yaml ## run one trace with Kueue, with the scheduler for Kubernetes and in the simulator, in 10 minutes
	cd $(KUBE) && $(GO) test -count=1 -v ./kubetest -run Kueue -kueue && $(GO) test -count=1 -v -timeout 30m ./e2e -run Beside -window=long -kueue

e2e: kubeassets ## try the scheduler for Kubernetes end to end
	cd $(KUBE) && $(GO) test ./e2e -v -count 1 -timeout 180m -window=long -faults=long $(E2EFLAGS)

kube-bench: kubeassets ## time rounds, and binding beside kube-scheduler
	cd $(KUBE) && $(GO) test ./control -run '^$$' -bench Round -benchtime 100x
	cd $(KUBE) && $(GO) test ./e2e -run '^$$' -bench Throughput -benchtime 1x

onnx-bench: onnxruntime ## time the forward pass beside ONNX Runtime
	$(GO) test ./agents -run '^$$' -bench BesideONNX -benchtime 1x

# Debian's python3-torch is for Debian's python3. TAGS=openblas builds the Go side with OpenBLAS.
TORCH_PYTHON ?= /usr/bin/python3
torch: ## time a training step beside PyTorch, if it is there
	$(TORCH_PYTHON) agents/learn/torch/step.py --tags "$(TAGS)"

golden: ## compare the heuristics with the exact schedules
	$(GO) test ./baselines -run Golden -v

data: build ## get the public traces into ../shared, or into the folder of CLUSTERGYM_SHARED
	bin/clustergym trace fetch

quickstart: build ## build, then train and compare a small policy
	bin/clustergym quickstart

# The released policy: what its recipe trains, from scratch or on from where a run was stopped. What the program embeds is replaced
# only by a run that has ended; a run by another recipe is refused.
RELEASE := checkpoints/released
train_release = bin/clustergym train $$([ ! -e $(1)/run.yaml ] || echo --resume) --config $(RELEASE)/recipe.yaml --dir $(1)
export_release = bin/clustergym export --run $(1) --name released

release: build ## train the released policy by its recipe, for hours, and put it in place
	$(call train_release,runs/release)
	$(call export_release,runs/release)
	cp $(addprefix runs/release/policy/,manifest.json weights.safetensors policy.onnx README.md) $(RELEASE)/
	$(GO) test ./$(RELEASE)
	$(MAKE) build

release-smoke: build ## try what release does on a small scenario, within a minute
	rm -rf runs/release-smoke
	$(call train_release,runs/release-smoke) --scenario embedded-small-v1 --updates 2 --set train.expert=2
	$(call export_release,runs/release-smoke)
	bin/clustergym eval --scenario embedded-small-v1 --windows 1 --seeds 1 --policies prior,runs/release-smoke/policy \
	  --baseline prior --figures none --out runs/release-smoke/eval

# What the tables of the README, of policies and of A-SRPT show. Traces that are not there make them fail, in CI, or leave them unchecked.
RESULTS := --scenario venus-contended-v1,philly-contended-v1,mixed-load110-weak-moldable-v1,loaning-venus-v1,hetero-warm-venus-v1,uplinks-warm-venus-v1 \
  --policies fifo,las,srtf,a-srpt,lyra+loan,sjfskip:place=compact,sjfskip+menu,prior,srsf:evict=true+menu:places=8+move,released
PLAY := bin/clustergym eval -q $(RESULTS) --figures none --out runs/results --markdown

ASRPT := eval --scenario venus-contended-v1,philly-contended-v1 \
  --policies a-srpt:predictor=granted,a-srpt:predictor=granted:backfill=easy,a-srpt:predictor=granted:backfill=true,a-srpt:predictor=fitted,a-srpt:predictor=fitted:backfill=easy,a-srpt:predictor=fitted:backfill=true,a-srpt,a-srpt:backfill=easy,a-srpt:backfill=true,las \
  --baseline srsf --seeds 1 --markdown --figures none --out runs/a-srpt
PLAY_ASRPT := { printf '```\nclustergym %s\n```\n\n' '$(ASRPT)' | sed 's/ --\(policies\|baseline\)/ \\\n  --\1/g'; \
  bin/clustergym -q $(ASRPT); }

# What docs/told.md shows, a line of PROOF_TABLES each. True estimates as "noisy" ones let jobs that run at the beginning of a window
# keep their age.
KNOW_TIMES := times fjf,srsf:place=compact,srsf+menu+move \
  venus-load110-weak-moldable-warm-v1,mixed-load150-weak-moldable-warm-v1,philly-load110-strong-rigid-warm-v1,hetero-warm-venus-v1 \
  --set estimates.kind=noisy --set estimates.sigma=0 \
  --policies fjf,sjfskip,sjfskip+know,sjfskip+know:time=history,srsf:place=compact,las:place=compact,srsf:place=compact+know,srsf+menu+move,las+menu+move,srsf+menu+move+know,srsf+menu+move+know:time=history
know_menu     := srsf+menu+move+know
KNOW_SPEEDS := speeds srsf:place=compact+know:speed=none \
  venus-load110-weak-moldable-warm-untold-v1,mixed-load150-weak-moldable-warm-untold-v1,hetero-warm-venus-untold-v1 \
  --policies srsf:place=compact+know:speed=none,srsf:place=compact+know:speed=truth,$(know_menu):speed=none,$(know_menu):speed=fit,$(know_menu):speed=fit:seen=training,$(know_menu):speed=truth,$(know_menu):speed=truth:time=truth
KNOW_WORLDS := worlds fjf \
  newcomers-venus-untold-v1,nopreempt-venus-untold-v1,gangs-venus-untold-v1,varied-venus-untold-v1,phases-venus-untold-v1 \
  --policies fjf,las:place=compact,srsf:place=compact+know:speed=none,serverfilling:place=compact+know:speed=none,$(know_menu):speed=none,$(know_menu):speed=fit,$(know_menu):speed=fit:seen=training,$(know_menu):speed=fit:seen=training:time=history,$(know_menu):speed=truth,$(know_menu):speed=fit:seen=training:time=truth,$(know_menu):speed=truth:time=truth
know_places   := srsf:evict=true+menu:places=8:idle=true+move+know
KNOW_RACKS := racks las:place=compact turns-small-untold-v1,power-turns-small-untold-v1,uplinks-warm-venus-untold-v1 \
  --policies las:place=compact,$(know_menu):speed=none,$(know_menu):speed=fit,$(know_menu):speed=truth,$(know_places):speed=none,$(know_places):speed=fit,$(know_places):speed=fit:seen=training,$(know_places):speed=truth

# put NAME,PAGE sets the file $$table between the markers of that name on a page.
put = awk -v table="$$table" -v name="$(1)" '$$0 == "<!-- end of " name " -->" {skip = 0} !skip {print} \
  $$0 == "<!-- " name " -->" {skip = 1; while ((getline line < table) > 0) print line}' $(2) > $(2).new; mv $(2).new $(2)

# same NAME,PAGE,TARGET fails if the file $$table is not what stands between the markers of that name on a page.
same = awk -v name="$(1)" '$$0 == "<!-- end of " name " -->" {show = 0} show {print} $$0 == "<!-- " name " -->" {show = 1}' $(2) \
  | diff "$$table" - || { echo "a table of $(2) is out of date: run make $(3)"; exit 1; }

results: readme a-srpt know proof bench-table ## play what every table shows, and write it there: README.md, docs/policies.md, told.md, learned.md, bench.md

# The README shows four rows and three scenarios of it.
few = awk -F'|' 'NR <= 2 || $$2 ~ /^ (sjfskip|prior|srsf:evict=true.menu:places=8.move|released) $$/ {print "|" $$2 "|" $$4 "|" $$7 "|" $$8 "|"}'

readme: build ## play what the tables of README.md and docs/policies.md show, and write them there
	@table=$$(mktemp); trap 'rm -f "$$table" "$$table.few"' EXIT; $(PLAY) > "$$table"; \
	$(call put,results,docs/policies.md); \
	$(few) "$$table" > "$$table.few"; table="$$table.few"; $(call put,results,README.md)

a-srpt: build ## play what docs/policies.md shows of what A-SRPT is told, and write it there
	@table=$$(mktemp); trap 'rm -f "$$table"' EXIT; $(PLAY_ASRPT) > "$$table"; \
	$(call put,a-srpt,docs/policies.md)

# What docs/bench.md shows. The rows of other policies in the folder runs/bench are no part of it.
bench-table: build ## play the benchmark with all standard policies, and write docs/bench.md and docs/bench-v1.json
	@table=$$(mktemp); list=$$(mktemp); trap 'rm -f "$$table" "$$list"' EXIT; \
	{ printf '```\nclustergym bench --out runs/bench-v1 --markdown\n```\n\n'; \
	  bin/clustergym bench --out runs/bench-v1 --markdown < /dev/null; echo; } > "$$table"; \
	cp runs/bench-v1/results.json docs/bench-v1.json; $(call put,bench,docs/bench.md); \
	bin/clustergym bench --list --markdown > "$$list"; \
	{ awk '/^$$/ {exit} {print}' "$$list"; echo; } > "$$table"; $(call put,bench-tasks,docs/bench.md); \
	{ awk 'show {print} /^$$/ {show = 1}' "$$list"; echo; } > "$$table"; $(call put,bench-policies,docs/bench.md)

know: ## play what docs/told.md shows of run times and speeds that nobody tells, and write it there
	$(MAKE) proof PROOF_PAGE=docs/told.md PROOF_TABLES='$(KNOW_TIMES)'
	$(MAKE) proof PROOF_PAGE=docs/told.md PROOF_TABLES='$(KNOW_SPEEDS)'
	$(MAKE) proof PROOF_PAGE=docs/told.md PROOF_TABLES='$(KNOW_WORLDS)'
	$(MAKE) proof PROOF_PAGE=docs/told.md PROOF_TABLES='$(KNOW_RACKS)'

recording: ## draw docs/img/tour.svg from what the README's tour prints, which go test ./cli -run Tour compares with the commands
	$(GO) test ./internal/recording -update

results-check: build ## fail if the tables of readme and a-srpt are not what their commands print
	@if [ ! -d "$${CLUSTERGYM_SHARED:-../shared}/traces" ] && [ "$${CI:-}" != true ]; then \
	  echo "results-check: no traces in $${CLUSTERGYM_SHARED:-../shared}, the tables are not checked"; exit 0; \
	fi; \
	table=$$(mktemp); trap 'rm -f "$$table" "$$table.few"' EXIT; \
	$(PLAY) > "$$table"; $(call same,results,docs/policies.md,readme); \
	$(few) "$$table" > "$$table.few"; (table="$$table.few"; $(call same,results,README.md,readme)) || exit 1; \
	$(PLAY_ASRPT) > "$$table"; $(call same,a-srpt,docs/policies.md,a-srpt)

# What docs/learned.md shows: a line a table, with the name of its markers, what differences are shown (from a baseline, of a
# metric behind @ that is not the mean JCT; with /seeds behind it as means over seeds of training) and the flags of eval. RELEASED
# is a policy or a folder, PROOF a regular expression of the tables to play, and PROOF_FLAGS are more flags, such as --windows 2
# for a trial.
RELEASED    ?= released
PROOF       ?= .
PROOF_PAGE  ?= docs/learned.md
PROOF_FLAGS ?=

proof_released := $(if $(filter released,$(RELEASED)),released,released=$(RELEASED))
proof_all      := --policies srsf:place=compact,sjfskip:place=compact,srsf:place=tune,srsf+menu,srsf+menu+move,srtf+menu+move,a-srpt,lyra,prior,$(proof_released)
proof_few      := --policies srsf:place=compact,srsf+menu,prior,$(proof_released)
proof_blind    := --policies fifo,fjf,sjfskip,prior,$(proof_released)
proof_whole    := --set window.train=[] --set window.validation=[] --set window.test=[0,1] --set window.gather=true
proof_trained  := hetero-warm-venus-v1,uplinks-warm-venus-v1,venus-load150-weak-moldable-warm-v1
comma          := ,
empty          :=
# Loads and interferences of a trace.
proof_grid = $(subst $(empty) ,$(comma),$(strip $(foreach i,strong weak,$(foreach l,090 110 150,$(1)-load$(l)-$(i)-rigid-warm-v1))))
# So many servers, arrivals that warm them up, windows, and all arrivals.
proof_size = embedded-physics-v1 --set cluster.servers=$(1) --set workload.load=1.8 --set window.warm=$(2) \
  --set window.resample.test=$(3) --set workload.jobs=$(4) $(proof_whole)

# What teams come to that are told nothing, beside their prior, the rule with the same information and the strongest known.
UNTOLD        := docs/recipes/untold.yaml
untold_prior  := srsf+menu:places=8:idle=true+move+know:speed=fit:seen=training
untold_menu   := srsf+menu:places=8:idle=true+move+know
untold_evict  := srsf:evict=true+menu:places=8:idle=true+move+know
untold_rivals := fjf,las:place=compact,srsf:place=compact+know:speed=none,srsf+menu+move+know:speed=fit:seen=training,srsf+menu:idle=true+move+know:speed=fit:seen=training,$(untold_prior),$(untold_menu):speed=none,$(untold_menu):speed=fit
untold_truth  := srsf+menu:places=8:idle=true+move+know:speed=truth:time=truth
untold_runs    = $(foreach s,1 2 3,runs/untold/$(1)-$(s))
untold_shown  := srsf:place=compact+know:speed=none,$(untold_prior)/seeds,$(untold_prior)
untold_where  := venus-load150-weak-moldable-warm,mixed-load150-weak-moldable-warm,loaning-warm-venus,philly-load110-strong-rigid-warm,varied-venus
proof_untold   = --policies $(untold_rivals),$(untold_truth),$(subst $(empty) ,$(comma),$(strip $(wildcard $(1))))
proof_ablation = ablations-$(1) prior/seeds,prior $(1) --set $(coupled_set) --windows 30 \
  --policies prior,srsf+menu:places=8+move,$(subst $(empty) ,$(comma),$(strip $(wildcard $(call ablation_runs,$(1)))))
proof_reinforced = reinforced-$(1) prior/seeds,prior $(1) --set $(reinforced_set) --windows 30 \
  --policies prior,$(call reinforced_rivals,$(1)),$(subst $(empty) ,$(comma),$(strip $(foreach n,labels longer ppo,$(foreach s,1 2 3 4 5,runs/reinforced/$(1)/$(n)-$(s)))))

define PROOF_TABLES
venus srsf:place=compact,prior $(call proof_grid,venus) $(proof_all)
philly srsf:place=compact,prior $(call proof_grid,philly) $(proof_all)
mixed srsf:place=compact,prior $(call proof_grid,mixed) $(proof_all)
trained srsf:place=compact,prior $(proof_trained) $(proof_all)
evict srsf:place=compact,prior $(proof_trained),venus-load110-strong-rigid-warm-v1,philly-load110-strong-rigid-warm-v1,mixed-load110-strong-rigid-warm-v1 --policies srsf:place=compact,srsf:evict=true:place=compact,prior,srsf:evict=true+menu+move,srsf+menu:places=8+move,srsf:evict=true+menu:places=8+move,$(proof_released)
amounts prior@gpus_given,prior@cpu_given,prior@mem_given $(proof_trained) --policies srsf:place=compact,srsf:place=tune,srsf+menu,prior,$(proof_released)
size-1 srsf:place=compact,prior $(call proof_size,10,160,30,4660) $(proof_few)
size-4 srsf:place=compact,prior $(call proof_size,40,640,30,5140) $(proof_few)
size-16 srsf:place=compact,prior $(call proof_size,160,2560,30,7060) --policies srsf:place=compact,prior,$(proof_released)
size-64 srsf:place=compact,prior $(call proof_size,640,10240,4,10840) --policies srsf:place=compact,prior,$(proof_released)
noise-0 srsf:place=compact,prior $(proof_trained) --set estimates.kind=noisy --set estimates.sigma=0 $(proof_few)
noise-0.4 srsf:place=compact,prior $(proof_trained) --set estimates.kind=noisy --set estimates.sigma=0.4 $(proof_few)
noise-0.8 srsf:place=compact,prior $(proof_trained) --set estimates.kind=noisy --set estimates.sigma=0.8 $(proof_few)
profile-0.3 srsf:place=compact,prior $(proof_trained) --set profile_error=0.3 $(proof_few)
arrivals-half srsf:place=compact,prior $(proof_trained) --set workload.stretch=2 $(proof_few)
arrivals-twice srsf:place=compact,prior $(proof_trained) --set workload.stretch=0.5 $(proof_few)
trace srsf:place=compact,prior embedded-physics-v1,openb-load110-weak-rigid-v1 $(proof_whole) --set window.arrivals=100 --set window.warm=500 --set window.resample.test=30 $(proof_few)
fifo-venus fifo,fifo@makespan_s venus-load150-strong-rigid-warm-v1 $(proof_blind)
fifo-philly fifo,fifo@makespan_s philly-load150-strong-rigid-warm-v1 $(proof_blind)
untold-speeds $(untold_menu):speed=none openb-warm-untold-v1,$(subst $(empty) ,$(comma),$(foreach w,$(subst $(comma), ,$(untold_where)),$(w)-untold-v1)),hetero-warm-venus-untold-v1 --policies srsf:place=compact+know:speed=none,$(untold_menu):speed=none,$(untold_menu):speed=fit,$(untold_prior),$(untold_truth),$(untold_evict):speed=none,$(untold_evict):speed=fit,$(untold_evict):speed=fit:seen=training,$(untold_evict):speed=truth:time=truth
$(if $(wildcard runs/untold),untold-openb $(untold_shown) openb-warm-untold-v1 $(call proof_untold,$(call untold_runs,openb)))
$(if $(wildcard runs/untold),untold-hetero $(untold_shown) hetero-warm-venus-untold-v1 $(call proof_untold,$(call untold_runs,hetero)))
$(if $(wildcard runs/untold),untold-elsewhere $(wordlist 1,1,$(subst $(comma), ,$(untold_shown)))$(comma)$(untold_prior) $(subst $(empty) ,$(comma),$(foreach w,$(subst $(comma), ,$(untold_where)),$(w)-untold-v1)) $(call proof_untold,runs/untold/openb-1 runs/untold/hetero-1))
$(foreach w,$(notdir $(wildcard $(ablation_worlds:%=runs/ablations/%))),$(call proof_ablation,$(w))
)
$(foreach w,$(notdir $(wildcard $(reinforced_worlds:%=runs/reinforced/%))),$(call proof_reinforced,$(w))
)
endef
export PROOF_TABLES

# WORKERS=N plays the cases in N worker processes, with the same results.
proof: build ## play what docs/learned.md shows, and write it there
	@set -f; table=$$(mktemp); trap 'rm -f "$$table" $(PROOF_PAGE).new' EXIT; \
	while read -r name shown args; do \
	  [[ $$name =~ $(PROOF) ]] || continue; began=$$SECONDS; : > "$$table"; \
	  for what in $${shown//,/ }; do \
	    seeds=; [[ $$what != */seeds ]] || seeds=--over-seeds; what=$${what%/seeds}; baseline=$${what%@*}; metric=$${what#"$$baseline"}; metric=$${metric:+--metric $${metric#@}}; \
	    line="eval --scenario $$args --baseline $$baseline $$metric --seeds 1 $(PROOF_FLAGS)"; \
	    line=$$(echo $$line --markdown $$seeds --figures none --out runs/proof/$$name); \
	    { printf '```\nclustergym %s\n```\n\n' "$$line" | sed 's/ --\(policies\|baseline\)/ \\\n  --\1/g'; \
	      bin/clustergym -q $$line $(WORKERS:%=--workers %) < /dev/null; \
	      printf '\nBold: the interval excludes 0. Otherwise the two policies cannot be told apart.\n\n'; } >> "$$table"; \
	  done; \
	  $(call put,$$name,$(PROOF_PAGE)); \
	  echo "$$name: $$((SECONDS - began)) s" >&2; \
	done <<< "$$PROOF_TABLES"

# What the graph and attention are worth where jobs slow each other down: ten seeds of each network learn from the same labels. A run
# that has ended is not repeated, and one that was stopped goes on.
COUPLED           := docs/recipes/coupled.yaml
coupled_set       := workload.jobs=30000
ablation_worlds   := turns-small-v1 power-turns-small-v1
ablation_variants := full graph-none attention-none
ablation_seeds    := 1 2 3 4 5 6 7 8 9 10
ablation_runs      = $(foreach v,$(ablation_variants),$(foreach s,$(ablation_seeds),runs/ablations/$(1)/$(v)-$(s)))

untold: build ## train the teams of docs/learned.md that are told nothing, and evaluate them
	for run in $(call untold_runs,openb) $(call untold_runs,hetero); do \
	  name=$${run##*/}; set --; [[ $$name != hetero-* ]] || set -- --scenario hetero-warm-venus-untold-v1 --set train.label=0.03; \
	  bin/clustergym train $$([ ! -e $$run/run.yaml ] || echo --resume) --config $(UNTOLD) "$$@" --labels runs/untold/labels \
	    --dir $$run --seed $${name##*-}; \
	done
	$(MAKE) proof PROOF='^untold-'

ablations: build ## train what docs/learned.md leaves out of the network, and evaluate it
	for run in $(foreach w,$(ablation_worlds),$(call ablation_runs,$(w))); do \
	  world=$$(basename $$(dirname $$run)); name=$${run##*/}; seed=$${name##*-}; what=$${name%-*}; set --; \
	  [ $$what = full ] || set -- --set train.size.$${what/-/=}; \
	  bin/clustergym train $$([ ! -e $$run/run.yaml ] || echo --resume) --config $(COUPLED) --scenario $$world \
	    --set scenario.$(coupled_set) --labels runs/ablations/labels --dir $$run --seed $$seed "$$@"; \
	done
	$(MAKE) proof PROOF='^ablations-'

# What reinforcement adds to labels: five seeds learn from the same labels, and each then learns on by PPO from what it plays itself.
# For comparison each also learns from labels for twice as long.
reinforced_worlds := embedded-small-v1 embedded-small-untold-v1 embedded-physics-v1 loaning-small-v1
reinforced_set    := workload.jobs=20000
reinforced_rivals  = las:place=compact,srsf+menu+move$(if $(findstring untold,$(1)),+know:speed=fit)$(if $(findstring embedded-small,$(1)),,$(comma)srsf:evict=true+menu:places=8+move)$(if $(findstring loaning,$(1)),+loan)
reinforced_train   = bin/clustergym train $$([ ! -e $(1)/run.yaml ] || echo --resume) --scenario $$world \
  --set scenario.$(reinforced_set) --set train.validation=20 --updates $(2) --seed $$seed --dir $(1)

reinforced: build ## train what docs/learned.md compares of labels alone and PPO after labels, and evaluate it
	for world in $(reinforced_worlds); do for seed in 1 2 3 4 5; do \
	  runs=runs/reinforced/$$world; prior=sjfskip; [[ $$world != *-untold-* ]] || prior=sjfskip+know; \
	  for n in 20 40; do \
	    run=$$runs/labels-$$seed; [ $$n = 20 ] || run=$$runs/longer-$$seed; \
	    $(call reinforced_train,$$run,$$n) --set train.prior=$$prior --set train.expert=$$n --labels runs/reinforced/labels; \
	  done; \
	  from="--from $$runs/labels-$$seed"; [ ! -e $$runs/ppo-$$seed/run.yaml ] || from=; \
	  $(call reinforced_train,$$runs/ppo-$$seed,20) $$from --config docs/recipes/reinforced.yaml; \
	done; done
	$(MAKE) proof PROOF='^reinforced-'

# What docs/yardsticks.md shows: standard learners and the team on one scenario, three seeds each. A run that has ended is not
# repeated, and a run of the team that was stopped goes on. 24 updates of PPO make about as many decisions as the learners do.
YARDSTICKS      := embedded-small-v1
yardsticks_set  := workload.jobs=20000
yardsticks_runs  = $(foreach n,$(1),$(foreach s,1 2 3,runs/yardsticks/$(n)-$(s)))
COMPARE_YARDSTICKS := yardsticks compare --scenario $(YARDSTICKS) --set $(yardsticks_set) --prior sjfskip --markdown \
  random srsf srsf+menu+move $(call yardsticks_runs,ippo vdn ppo labels)

yardsticks: build studies ## train what docs/yardsticks.md compares, and write it there
	export GOMAXPROCS=1; \
	for run in $(call yardsticks_runs,ippo vdn); do \
	  name=$${run##*/}; \
	  bin/clustergym-studies yardsticks learn --learner $${name%-*} --scenario $(YARDSTICKS) --set $(yardsticks_set) --prior sjfskip \
	    --seed $${name##*-} --dir $$run; \
	done; \
	for run in $(call yardsticks_runs,ppo labels); do \
	  name=$${run##*/}; seed=$${name##*-}; \
	  case $$name in ppo-*) updates=24; expert=0;; *) updates=20; expert=20;; esac; \
	  bin/clustergym train $$([ ! -e $$run/run.yaml ] || echo --resume) --scenario $(YARDSTICKS) --set scenario.$(yardsticks_set) \
	    --set train.prior=sjfskip --seed $$seed --set train.label_seed=$$seed --updates $$updates --set train.expert=$$expert --dir $$run; \
	done
	@table=$$(mktemp); trap 'rm -f "$$table"' EXIT; \
	{ printf '```\nclustergym-studies %s\n```\n\n' '$(COMPARE_YARDSTICKS)' | sed 's# random# \\\n  random#; s# \(runs/[a-z/]*-1\)# \\\n  \1#g'; \
	  bin/clustergym-studies -q $(COMPARE_YARDSTICKS); echo; } > "$$table"; \
	$(call put,yardsticks,docs/yardsticks.md)

# The reference has the pages of the program and those of the studies. That of the Python package is made where there is a Python.
gen_docs = $(GO) run ./cmd/clustergym gen-docs "$$tmp" && $(GO) run -C studies . gen-docs "$$tmp"
gen_python_docs = if $(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10)' 2>/dev/null; then $(PYTHON) python/api.py $(1); \
  elif [ "$${CI:-}" = true ]; then echo "no Python 3.10 or later: docs/python-api.md cannot be made"; exit 1; \
  else echo "*** no Python 3.10 or later: docs/python-api.md IS LEFT AS IT IS ***"; cp docs/python-api.md $(1); fi

# The documentation as a site. SITE_PAGES=all looks at every page of it.
SITE_VENV  := bin/site-venv
SITE_STAMP := $(SITE_VENV)/.made-$(shell cat site/requirements.txt site/package.json | sha256sum | cut -c1-16)
SITE_NODE  := $(CURDIR)/bin/site-node/node_modules
SITE_SIMULATOR := $(CURDIR)/bin/site-simulator

site: $(SITE_STAMP) ## build the documentation as a site in bin/site, and fail on a broken link
	mkdir -p $(SITE_SIMULATOR) && cp "$$($(GO) env GOROOT)/lib/wasm/wasm_exec.js" $(SITE_SIMULATOR)/
	GOOS=js GOARCH=wasm $(GO) build -trimpath -buildvcs=false -ldflags '-s -w -buildid=' -o $(SITE_SIMULATOR)/simulator.wasm ./cmd/clustergym-browser
	NO_MKDOCS_2_WARNING=1 SITE_NODE=$(SITE_NODE) SITE_SIMULATOR=$(SITE_SIMULATOR) $(SITE_VENV)/bin/mkdocs build -q --strict -f site/mkdocs.yml
	@echo "site: bin/site/index.html"

site-check: site ## look at the site in Chromium: no request, no page too wide, contrast, labels, keyboard, search
	SITE_NODE=$(SITE_NODE) CHROMIUM=$$(command -v chromium) node site/check.mjs bin/site bin/site-pictures

$(SITE_STAMP):
	rm -rf $(SITE_VENV) && $(PYTHON) -m venv $(SITE_VENV)
	$(SITE_VENV)/bin/pip install -q -r site/requirements.txt
	rm -rf bin/site-node && mkdir -p bin/site-node && cp site/package.json bin/site-node/
	cd bin/site-node && npm install --ignore-scripts --no-audit --no-fund --silent
	touch $@

docs: ## write the references: of commands to docs/cli, of the Python package to docs/python-api.md
	@tmp=$$(mktemp -d); page=$$(mktemp); trap 'rm -rf "$$tmp" "$$page"' EXIT; \
	$(gen_docs) && rm -rf docs/cli && mkdir docs/cli && cp "$$tmp"/*.md docs/cli/; \
	$(call gen_python_docs,"$$page"); cat "$$page" > docs/python-api.md

docs-check: ## fail if the references are not what commands and docstrings say
	@tmp=$$(mktemp -d); page=$$(mktemp); trap 'rm -rf "$$tmp" "$$page"' EXIT; \
	$(gen_docs); \
	diff -ru docs/cli "$$tmp" || { echo "docs/cli is out of date: run make docs"; exit 1; }; \
	$(call gen_python_docs,"$$page"); \
	diff -u docs/python-api.md "$$page" || { echo "docs/python-api.md is out of date: run make docs"; exit 1; }
	@$(attacks) | while read -r package name; do \
	  grep -qE "^func $$name\(" "$$package"/*_test.go || { echo "docs/reliability.md: $$package has no test $$name"; exit 1; }; \
	done

clean: ## remove what the targets built
	rm -rf bin
