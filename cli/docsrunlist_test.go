package cli

import "fmt"

// inlinePages are the pages whose commands in backquotes count as commands, too, up to the given line. On other pages backquotes name
// a command more often than they show one to run.
var inlinePages = map[string]string{"README.md": "", "studies/expectations.md": "## What stopped new users", "examples/README.md": ""}

// leftOut lists the commands of pages that TestCommandsOfPagesRun does not run as printed: those that begin with command. It runs those
// that have flags here, with these flags added, and does not run the others. The reason says why, and which test or target of the
// Makefile runs them instead.
var leftOut = []struct{ page, command, flags, reason string }{
	{"README.md", "make quickstart", "", "CI runs it: make quickstart"},
	{"README.md", "make test", "", "CI runs it: make test"},
	{"README.md", "bin/clustergym", "", "TestTheTourOfTheREADME compares what the tour prints"},
	{"README.md", "bin/clustergym demo", "", "TestDemo runs it"},
	{"README.md", "bin/clustergym doctor", "--json", "as text it says the same"},
	{"docs/bench.md", "clustergym bench", "--task small-first@embedded-small-v1 --policy fjf,las:place=compact", "all tasks and policies take minutes: make results"},
	{"docs/bench.md", "clustergym bench --policy mine", "--task small-first@embedded-small-v1", "all tasks need traces"},
	{"docs/evaluation.md", "clustergym eval --scenario embedded-small-v1,loaning-small-v1 --policies fifo,srtf,las", "--windows 2 --seeds 1", "so that it ends soon"},
	{"studies/expectations.md", "clustergym env play -s loaning-small-v1", "--policy random --rounds 2", "so that it ends soon"},
	{"studies/expectations.md", "clustergym env play -s embedded-small-v1", "--policy random --rounds 2", "so that it ends soon"},
	{"studies/expectations.md", "clustergym serve --policy released", "", "it serves until it is stopped: TestServeAnswersAsPlanDoes"},
	{"studies/expectations.md", "clustergym eval", "", "it names the command of other rows"},
	{"studies/expectations.md", "clustergym eval -s embedded-small-v1 -p fifo --gate", "--windows 2 --seeds 1", "so that it ends soon"},
	{"studies/expectations.md", "clustergym eval -s", "--windows 2 --seeds 1", "so that it ends soon"},
	{"studies/expectations.md", "clustergym eval --parquet", "--windows 2 --seeds 1", "so that it ends soon"},
	{"studies/expectations.md", "clustergym train -s embedded-small-v1", "--updates 1", "so that it ends soon"},
	{"studies/expectations.md", "clustergym train --config", "--updates 1", "so that it ends soon"},
	{"studies/expectations.md", "clustergym demo", "", "TestDemo runs it"},
	{"studies/expectations.md", "clustergym env check", "--steps 200", "so that it ends soon"},
	{"docs/house.md", "go test ./internal/pins", "", "make test runs it, without -update"},
	{"docs/kubernetes.md", "", "", "cmd/clustergym-kube/e2e runs its walk-through; TestCommandsForClustersAreMarked finds marks at the others"},
	{"docs/production.md", "curl", "-sSf", "so that a request that is refused fails"},
	{"docs/production.md", `curl -H "Authorization`, "-sSf --cacert tls.crt --resolve gpu-head:8642:127.0.0.1", "so that the test's machine is gpu-head"},
	{"docs/production.md", "clustergym beliefs --scenario", "--scenario embedded-small-v1", "the other scenario needs traces"},
	{"docs/runbook-kubernetes.md", "", "", "they need a real cluster: TestCommandsForClustersAreMarked"},
	{"docs/learned.md", "clustergym eval", "", "it needs traces"},
	{"studies/learned.md", "clustergym train --scenario embedded-small-v1 --set scenario.workload.jobs=20000 --objective", "", "training takes a minute: TestTrainCosts"},
	{"studies/learned.md", "clustergym eval --scenario embedded-small-v1 --set workload.jobs=20000 --objective", "", "it needs the run before it"},
	{"studies/learned.md", "clustergym train --scenario venus-load110-strong-rigid-warm-v1 --objective", "", "it needs traces"},
	{"studies/learned.md", "clustergym eval --scenario venus-load110-strong-rigid-warm-v1 --objective", "", "it needs traces"},
	{"studies/bench-v1.md", "", "", "the program has bench-v2 in its place"},
	{"studies/learned.md", "clustergym train --from runs/ablations", "", "it needs the runs of studies/experiments/ablations.yaml"},
	{"studies/learned.md", "clustergym train --config studies/recipes/strongest.yaml", "", "it needs traces, and takes half an hour"},
	{"studies/learned.md", "clustergym train --from runs/strongest", "", "it needs the run before it, and traces"},
	{"studies/learned.md", "clustergym train --config studies/recipes/reinforced.yaml --scenario embedded-small-untold-v1", "--updates 1 --set train.windows=1 --set train.validation=1 --set scenario.workload.jobs=2000", "training takes minutes"},
	{"studies/learned.md", "clustergym train --config studies/recipes/untold.yaml", "", "it needs traces, and takes half an hour"},
	{"studies/learned.md", "clustergym train --scenario embedded-small-untold-v1", "--updates 1 --set train.expert=1 --set train.windows=1 --set train.validation=1 --set train.label=0.01 --set scenario.workload.jobs=2000", "training takes minutes"},
	{"studies/learned.md", "clustergym train --scenario embedded-small-v1", "--updates 1 --set train.expert=1 --set train.windows=1 --set train.validation=1 --set scenario.workload.jobs=2000", "training takes minutes"},
	{"studies/learned.md", "clustergym eval --scenario embedded-small-v1 --set workload.jobs=20000 --seeds 1", "--set workload.jobs=2000 --windows 1", "the team that the page shows took minutes to train"},
	{"studies/learned.md", "clustergym train --scenario loaning-small-v1", "--updates 1 --set train.expert=1 --set train.windows=1 --set train.validation=1 --set scenario.workload.jobs=2000", "training takes minutes"},
	{"studies/learned.md", "clustergym eval --scenario loaning-small-v1 --set workload.jobs=20000 --seeds 1", "--set workload.jobs=2000 --windows 1", "the team that the page shows took minutes to train"},
	{"studies/learned.md", "clustergym train --scenario turns-small-v1", "--updates 1 --set train.windows=1 --set train.validation=1 --set scenario.workload.jobs=2000 --dir runs/turns", "training takes minutes"},
	{"docs/traces.md", "clustergym trace import sacct.txt", "", "it needs what sacct of a cluster prints: TestSacct"},
	{"studies/physics-fit.md", "", "", "it needs ../shared/profiles: TestCommittedCoefficientsAreFitted"},
	{"docs/policies.md", "clustergym eval", "", "it needs traces"},
	{"docs/policies.md", "clustergym plan", "", "TestThePageOfWhatIf runs it"},
	{"docs/python.md", "make wheel", "", "make python-test builds one"},
	{"docs/python.md", "pip install", "", "make python-test installs it"},
	{"docs/python.md", "python python/examples/", "", "it takes minutes or hours; make python-test runs the examples for a few steps"},
	{"docs/python.md", "clustergym train", "--updates 1 --set train.windows=1", "training takes a minute"},
	{"docs/scale.md", "clustergym train --scenario embedded-small-v1 --workers", "--updates 1", "so that it ends soon"},
	{"docs/scale.md", "clustergym eval", "--windows 1 --seeds 1", "so that it ends soon"},
	{"docs/scale.md", "clustergym workers", "", "it shows the workers of a run that is going on: TestWorkersOfAFolder"},
	{"docs/scale.md", "openssl", "", "it needs other machines: TestWorkersGiveTheSameBytes starts a learner and workers on one"},
	{"docs/scale.md", "clustergym train --scenario embedded-small-v1 --listen", "", "it needs other machines: TestWorkersGiveTheSameBytes starts a learner and workers on one"},
	{"docs/scale.md", "clustergym worker --connect", "", "it needs other machines: TestWorkersGiveTheSameBytes starts a learner and workers on one"},
	{"docs/scale.md", "kubectl", "", "it needs a real cluster: TestCommandsForClustersAreMarked"},
	{"docs/seeing.md", "clustergym", "", "TestWhatThePageOnSeeingSaysIsSo compares what they print"},
	{"docs/reliability.md", "go test -C cmd/clustergym-kube/control", "", "it takes minutes; make soak and make soak-api run it"},
	{"docs/snapshots.md", "clustergym snapshot", "", "TestTheSnapshotsPage compares what they print"},
	{"docs/snapshots.md", "clustergym whatif --snapshot cluster.json --policy sjfskip --quota", "", "TestTheSnapshotsPage compares what it prints"},
	{"docs/snapshots.md", "clustergym plan --snapshot cluster.json --policy fifo", "", "TestTheSnapshotsPage compares what it prints"},
	{"docs/snapshots.md", "clustergym plan --snapshot cluster.json --policy sjfskip --assume 4h", "", "TestTheSnapshotsPage compares what it prints"},
	{"docs/training.md", "tensorboard", "", "it needs TensorBoard, which is not part of the project"},
	{"docs/training.md", "clustergym demo", "", "TestDemo runs it"},
	{"docs/training.md", "clustergym train --scenario embedded-small-v1 --from", "--updates 1 --set train.windows=1 --set train.validation=1", "training takes up to minutes"},
	{"docs/training.md", "clustergym train --scenario embedded-small-v1 --set", "--updates 1 --set train.windows=1 --set train.validation=1", "training takes up to minutes"},
	{"docs/training.md", "clustergym train --config", "--updates 1 --set scenario.workload.jobs=6000 --set train.windows=1 --set train.validation=1", "training takes up to minutes"},
	{"docs/training.md", "clustergym train --from released", "--updates 1 --set train.windows=1 --set train.validation=1", "training takes up to minutes"},
	{"docs/training.md", "clustergym train --scenario untold.yaml", "--updates 1 --set train.windows=1 --set train.validation=1", "training takes up to minutes"},
	{"docs/training.md", "clustergym eval", "--windows 1 --seeds 1", "so that it ends soon"},
	{"docs/training.md", "clustergym eval --scenario embedded-physics-v1", "", "it plays the runs of three seeds, which take an hour to train"},
	{"docs/training.md", "clustergym train --resume", "--updates 2", "the run of the test has one update"},
	{"docs/training.md", "python3 internal/tbevent", "", "TestReadBack reads event files in the same way"},
	{"docs/what-if.md", "clustergym", "", "TestThePageOfWhatIf compares what they print"},
	{"docs/what-if.md", "clustergym-studies starts", "", "it needs traces"},
	{"examples/README.md", "go run", "", "the tests of the examples run the four programs: make test"},
	{"studies/demand.md", "", "", "it needs traces: TestDemandFitAndCompare"},
	{"studies/headroom.md", "", "", "it takes minutes and needs traces: TestHeadroomSaysWhatIsLeft"},
	{"studies/rivals.md", "", "", "it runs a program of the studies: TestPoliciesFinish plays the policies"},
	{"studies/training-runs.md", "", "", "it shows runs of its own: TestCompareShowsRuns, TestSweepTellsWhatToDo"},
	{"studies/README.md", "", "", "make test runs the tests of the studies; make studies builds them"},
}

// before lists what is done in the folder of a page before its commands run.
var before = map[string][]string{
	"docs/bench.md":  {"clustergym train --scenario embedded-small-v1 --updates 1 --dir runs/mine"},
	"docs/events.md": {smallTrace},
	"studies/expectations.md": {
		smallTrace,
		"clustergym plan --example > cluster.json",
		"clustergym simulate --trace jobs.csv --servers 2 --gpus-per-server 8 --policy sjfskip --log-out episode.jsonl",
		"printf 'scenario: embedded-small-v1\n' > train.yaml",
		"printf 'bounds:\n  - {policy: fifo, metric: mean_jct_s, max: 1e9, why: the test}\n' > gate.yaml",
	},
	"docs/production.md": {
		"clustergym train --scenario embedded-small-v1 --updates 1 --dir runs/first",
		"openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 2 -subj /CN=gpu-head -addext subjectAltName=DNS:gpu-head",
	},
	"docs/traces.md": {
		"printf 'id,gpus,created,ended,started\n1,2,0,100,0\n2,1,5,60,10\n' > cluster.csv",
		"printf '%s' '" + decided(1060, fmt.Sprintf(recorded, 60)) + decided(1100) + "' > decisions.jsonl",
	},
	"docs/training.md": {
		"clustergym trace gen --jobs 1500 --load 1.3 --gpus 64 > jobs.csv",
		"sed -n '/^name: mine-v1/,/^```/p' docs/training.md | grep -v '```' > mine.yaml",
		"(cat mine.yaml; sed -n '/^estimates: {kind/,/^```/p' docs/training.md | grep -v '```') > untold.yaml",
	},
}

// smallTrace writes a trace that two servers of 2 GPUs can serve.
const smallTrace = `printf 'job_id,num_gpu,submit_time,duration\n1,2,0,100\n2,2,10,50\n3,4,20,5\n4,1,30,10.5\n' > jobs.csv`
