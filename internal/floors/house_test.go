// Package floors checks the imports between packages. Every package has one of six floors and imports only packages of lower
// floors, and those of its own floor that stand above it in the list. Production packages must not depend on Gorgonia. The check
// reads package lists and does not load code.
package floors

// rules lists a module's packages by floor, and where other modules may be used.
type rules struct {
	Module string
	Floors []string // what each floor is about, the lowest first
	Rooms  []entry  // every package once, the lowest floor first; a package imports only packages before its own
	Fences []fence
}

// entry assigns a floor to a package.
type entry struct {
	Floor   int    // from 1
	Package string // relative to the module, for example "env/sim"
	Is      string // description for readers
}

// fence limits where another module may be used.
type fence struct {
	Module  string   // import path prefix, for example "gorgonia.org"
	Direct  []string // package families that may import it
	Through []string // families that may depend on it through the Direct ones
}

// house returns the rules of this module. Whoever adds a package adds an entry with its floor and a description, before the
// packages that import it; docs/house.md shows the entries.
func house() rules {
	return rules{
		Module: "github.com/clustergym/clustergym",
		Floors: []string{
			"tools that know nothing of clusters", "state, physics, traces; layers of networks and their files",
			"simulator, decision, placement, beliefs", "baselines, agents, environment", "training, evaluation, serving", "command line",
		},
		Rooms: []entry{
			{1, "objectives", "the library of objectives, as files"},
			{1, "internal/atomicfile", "files and folders that are put in place whole or not at all"},
			{1, "internal/cmdline/cmdlinetest", "tests: the help of a program is complete"},
			{1, "internal/config", "a struct filled from defaults, a YAML file, the environment and settings"},
			{1, "internal/floors", "this table, and the test that holds it"},
			{1, "internal/folderlock", "keeps two runs from writing into one folder"},
			{1, "internal/kernel", "what the kernels of networks are made of: products, dense layers, norms, softmax"},
			{1, "internal/graphop", "kernels as Gorgonia operations with gradients"},
			{1, "internal/loopback", "which hosts are this machine"},
			{1, "internal/must", "tests: end a test at an error"},
			{1, "internal/names", "names of jobs, users and servers that a terminal can show"},
			{1, "internal/formattest", "tests: fuzzes readers of formats"},
			{1, "internal/needs", "tests: what one lacks, and the command that brings it"},
			{1, "internal/onnx", "writes ONNX models"},
			{1, "internal/onnx/onnxtest", "tests: ONNX Runtime"},
			{1, "internal/onnx/run", "reads and computes ONNX models, under limits"},
			{1, "internal/phrase", "numbers and lists as a person says them"},
			{1, "internal/pins", "tests: digests of what schedulers decide"},
			{1, "internal/plain", "tests: kernels as plain loops, and a check of kernels against them"},
			{1, "internal/progress", "a progress bar, or plain lines in a log"},
			{1, "internal/recording", "a terminal's output as an animated SVG"},
			{1, "internal/registry", "things that a main adds by name"},
			{1, "internal/rng", "independent random streams by name"},
			{1, "internal/sharedtest", "tests: the folder of real traces"},
			{1, "internal/slurmtext", "hosts and resources as Slurm writes them"},
			{1, "internal/stats", "the few statistics that training and evaluation share"},
			{1, "internal/strictjson", "JSON of a known format, under limits while reading"},
			{1, "internal/table", "rows of cells as text and Markdown"},
			{1, "internal/cmdline", "what the command lines of programs share: output, exit codes, help pages"},
			{1, "internal/tbevent", "event files of TensorBoard"},
			{1, "internal/tbevent/tbeventtest", "tests: another reader of event files"},
			{1, "internal/units", "what gives units of a job to other processes"},
			{1, "internal/unpack", "compressed files under limits while reading"},
			{1, "internal/words", "tests: retired words, and what to write instead"},
			{1, "internal/work", "gives units of a job to workers, and takes their answers; speaks NATS"},
			{1, "internal/work/worktest", "tests: a server of NATS"},

			{2, "attention", "masked multi-head attention and readouts of sets, with gradients; knows nothing of clusters"},
			{2, "attention/graph", "dense layers, norms and attention in a Gorgonia graph"},
			{2, "checkpoints", "tensors in files, the atomic store, policy bundles"},
			{2, "checkpoints/released", "the policy that comes with the program"},
			{2, "coordgraph", "a dynamic coordination graph and its payoffs, with gradients; knows nothing of clusters"},
			{2, "coordgraph/graph", "payoffs of the graph in a Gorgonia graph"},
			{2, "env/cluster", "a cluster at one instant: state, transaction, feasibility, forecast, snapshot"},
			{2, "env/physics/comm", "the time of an iteration under mixed parallelism"},
			{2, "env/physics/profile", "models of speed and their fitted numbers"},
			{2, "env/physics", "the speed of a job under a placement"},
			{2, "env/pods", "which pods of Kubernetes are one gang, and what users state about it"},
			{2, "env/intake", "clusters as kubectl and Slurm print them"},
			{2, "env/trace", "readers, windows, estimates, the generator of workloads"},
			{2, "env/trace/fetch", "gets the public traces over HTTP, checked"},
			{2, "eval/toy", "a workload whose best schedule is known"},

			{3, "env/objectives", "what a cluster should do: objectives, their costs, and what they foresee"},
			{3, "env/backlog", "when the jobs that wait or run would end on one virtual machine"},
			{3, "env/belief", "how long jobs are believed to run, and how fast, from jobs that have ended and from measured throughputs"},
			{3, "env/inference", "what the inference pool needs, foresees and lends"},
			{3, "env/placement", "where a job starts and with how much: best fit, packing, tuning, the menu"},
			{3, "env/candidates", "what could be done at a decision, which servers take part, a judge that chooses"},
			{3, "env/observe", "states and candidates as rows of numbers"},
			{3, "env/game", "one decision of a team of servers: rounds, joint actions, agreement; links no simulator"},
			{3, "env/sim", "moves a cluster through time, writes the event log, replays and forks"},
			{3, "env/scenario", "scenario files, and the episodes that they deal out"},
			{3, "env/scenario/scenariotest", "tests: scenarios, opened"},
			{3, "env/sim/simtest", "tests: small episodes, drawn and played"},

			{4, "baselines/easy", "a reservation for the first job that does not fit"},
			{4, "baselines/asrpt", "A-SRPT"},
			{4, "baselines/elastic", "Lyra's and Pollux's allocation of workers"},
			{4, "baselines/forest", "random forests"},
			{4, "baselines/gittins", "the Gittins index of attained service"},
			{4, "baselines/index", "the rule for any objective"},
			{4, "baselines/loan", "borrowing servers from the inference pool and giving them back"},
			{4, "baselines/option", "options of schedulers: declared, listed, parsed"},
			{4, "baselines", "orders of jobs, and schedulers by name with their options"},
			{4, "agents", "the learned team: its network, the player of the game, its bundle"},
			{4, "agents/export", "writes the team's bundle, with its network as an ONNX model"},
			{4, "agents/learn", "the team's network and objectives as a Gorgonia graph"},
			{4, "baselines/predict", "predictors of iterations"},
			{4, "baselines/all", "the table of all schedulers, with those that look ahead in the simulator or predict with forests"},
			{4, "env", "the gym contract: environment, time step, reward, wrappers, vectors"},
			{4, "env/envserve", "a vector of environments for another process: shared memory, and pipes for requests"},
			{4, "env/envtest", "tests of the contract, toy environments, the speed measurement"},
			{4, "policy", "policies by name: baselines, bundles, runs; their priors, weights and what they were trained on"},

			{5, "eval", "cases, journal, results, statistics, tables, gates"},
			{5, "eval/bench", "the benchmark: its tasks, rivals, file of results and ranking"},
			{5, "eval/tune", "finds the best rule, and its options, for an objective"},
			{5, "eval/console", "schedules as text"},
			{5, "eval/browser", "the simulator for a page in a browser, under limits"},
			{5, "eval/explain", "why a decision is as it is, and what a learned team weighed"},
			{5, "eval/figure", "figures for papers"},
			{5, "eval/parquet", "results as columns"},
			{5, "eval/report", "the HTML page, and where two schedules part"},
			{5, "serve/decide", "a policy in production: deadline, fallback, reload, limits, log"},
			{5, "eval/whatif", "a snapshot or an event log played on in two ways, and the difference"},
			{5, "serve", "plans over HTTP: tokens, TLS, metrics"},
			{5, "serve/decide/decidetest", "tests: policies that answer, fail or are late"},
			{5, "serve/history", "the jobs of a cluster, from the snapshots in decision logs"},
			{5, "train/adam", "the optimiser of all training"},
			{5, "train/critic", "the critic of training by PPO: a network that estimates what the team will save"},
			{5, "train/recipe", "the file of a run with all that its result depends on"},
			{5, "eval/playjob", "what a worker must know to play episodes of an evaluation"},
			{5, "train", "episodes, labels, updates, checkpoints of a run, metrics"},

			{6, "cli/flags", "makes flags of the fields of structs, and has those that several commands share"},
			{6, "cli", "the command line, for any main to run"},
			{6, "cmd/clustergym", "the program: it runs cli.Main"},
			{6, "python/tests/reference", "tests: plays an environment, for the Python package to compare with"},
		},
		Fences: []fence{{
			Module:  "gorgonia.org",
			Direct:  []string{"internal/graphop", "attention/graph", "coordgraph/graph", "agents/learn", "train/critic"},
			Through: []string{"train", "cli", "cmd/clustergym"},
		}, {
			Module:  "github.com/nats-io",
			Direct:  []string{"internal/work", "internal/work/worktest"},
			Through: []string{"cli", "cmd/clustergym"},
		}},
	}
}
