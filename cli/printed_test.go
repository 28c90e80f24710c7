package cli

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// smallTraining makes a run of train end soon.
var smallTraining = []string{
	"--updates", "1", "--set", "train.windows=1", "--set", "train.validation=1", "--set", "train.label=0.05",
	"--set", "scenario.window.arrivals=20", "--set", "scenario.seeds=[1]",
}

// learnsAll is a prior that is told nothing and begins with what the training split teaches.
const learnsAll = "train.prior=srsf+know:speed=fit:seen=training"

// TestPrintedCommandsRun trains in each setting and checks that every command that is printed then runs as printed, and so does every
// command that one of these prints.
func TestPrintedCommandsRun(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("it trains small teams, which takes ten seconds")
	}
	for _, c := range []struct {
		name  string
		train []string
		want  []string // labels of what is printed on the way
	}{
		{"told", []string{"--scenario", "embedded-small-v1", "--set", "scenario.workload.jobs=1000"}, nil},
		{"untold", []string{"--scenario", "embedded-small-untold-v1", "--set", "scenario.workload.jobs=1000", "--set", learnsAll},
			[]string{"clustergym beliefs --scenario"}},
		{"own reward", []string{"--scenario", "embedded-small-v1", "--set", "scenario.workload.jobs=1000", "--objective", "hour"},
			[]string{"reward units a choice"}},
		{"objective", []string{"--scenario", "embedded-small-v1", "--set", "scenario.workload.jobs=1000", "--objective", "small-first"},
			[]string{"minutes a choice", "--objective small-first --policies index,fifo,"}},
		{"own objective", []string{"--scenario", "embedded-small-v1", "--set", "scenario.workload.jobs=1000", "--objective", "my data/mine.yaml"},
			[]string{"hours a choice", "--objective runs/a=b --policies"}},
		{"own trace", []string{"--scenario", "my data/own.yaml"}, []string{"--scenario 'my data/own.yaml' --set"}},
		{"own trace, told nothing", []string{"--scenario", "my data/untold.yaml", "--set", learnsAll},
			[]string{"sjfskip+know", "clustergym beliefs --scenario runs/a=b --save"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			ownTrace(t)
			p := printed{t: t}
			args := slices.Concat([]string{"train", "--dir", "runs/a=b"}, smallTraining, c.train)
			cancelled, cancel := context.WithCancel(t.Context())
			cancel()
			p.follow(commandWith(cancelled, "", args...), cmdline.CodeInterrupted, "go on with clustergym train --resume")
			p.follow(must(t, "train", "--resume", "--dir", "runs/a=b"), cmdline.CodeOK, "evaluate:", "export:")
			fresh := slices.Concat([]string{"train", "--dir", "runs/fifo"}, smallTraining, c.train)
			p.follow(must(t, fresh...), cmdline.CodeOK, "evaluate:", "export:")
			contains(t, p.all.String(), append(c.want, "try it:", "serve:")...)
			if card := read(t, "runs/a=b/policy/README.md"); strings.Contains(card, "--beliefs") != slices.Contains(c.train, learnsAll) {
				t.Errorf("the card says of beliefs\n%s", card)
			}
		})
	}
}

// ownTrace writes scenarios of a trace of the user's own in a folder with a blank, of which the second one tells nothing.
func ownTrace(t *testing.T) {
	t.Helper()
	dir := "my data"
	require.Do(t, os.Mkdir(dir, 0o777))
	told := "name: own-v1\nabout: the test\ncluster: {servers: 4, gpus_per_server: 8}\nworkload: {trace: jobs.csv, oversize: clamp}\n" +
		"window: {arrivals: 20, train: [0, 0.6], validation: [0.6, 0.8], test: [0.8, 1]}\npreempt_overhead: 1m\n"
	for name, text := range map[string]string{
		"own.yaml":    told,
		"untold.yaml": told + "estimates: {kind: none}\ntold: {speeds: nothing, models: nothing}\nreadings: {interval: 5m}\n",
		"mine.yaml":   "name: mine\nunit: hours\nterms: [{cost: wait, price: 1/h}]\n",
		"jobs.csv":    must(t, "trace", "gen", "--jobs", "300", "--load", "1.2", "--gpus", "32").out,
	} {
		require.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
}

// TestOtherPrintedCommandsRun checks the commands that commands print which train nothing, or no team.
func TestOtherPrintedCommandsRun(t *testing.T) {
	if testing.Short() || underRace {
		t.Skip("it trains small teams, which takes ten seconds")
	}
	t.Chdir(t.TempDir())
	ownTrace(t)
	p := printed{t: t}
	p.follow(must(t, slices.Concat([]string{"train", "--from", "released", "-s", "my data/own.yaml", "--dir", "runs/more"},
		smallTraining)...), cmdline.CodeOK, "evaluate:", "from=runs/more/from/policy")
	p.follow(must(t, "export", "-s", "my data/own.yaml", "--set", "seeds=[1]", "--prior", "sjfskip", "--model", scorer(t, 0, 0),
		"--out", "policies/x=y"), cmdline.CodeOK, "try it:")
	p.follow(must(t, "demo", "--updates", "1"), cmdline.CodeOK, "1/2 train:", "2/2 compare:", "play:")
}

// TestARunWhoseRewardIsElsewhere checks that a program which lacks a run's reward does with it whatever needs no reward, and that it
// names the reward if it is to train on.
func TestARunWhoseRewardIsElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, slices.Concat([]string{"train", "--dir", "runs/one", "-s", "embedded-small-v1", "--set", "scenario.workload.jobs=1000",
		"--objective", "hour"}, smallTraining)...)
	text := strings.Replace(read(t, "runs/one/run.yaml"), "objective: hour", "objective: theirs", 1)
	require.Do(t, os.WriteFile("runs/one/run.yaml", []byte(text), 0o666))
	p := printed{t: t}
	p.follow(must(t, "export", "--run", "runs/one"), cmdline.CodeOK, "try it:", "serve:")
	snapshot := file(t, "cluster.json", must(t, "plan", "--example").out)
	must(t, "plan", "--snapshot", snapshot, "--policy", "runs/one", "--job", "bert-large")
	must(t, "whatif", "--snapshot", snapshot, "--policy", "runs/one")
	p.run("clustergym serve --policy runs/one")
	s := command(t, "train", "--resume", "--updates", "2", "--dir", "runs/one")
	if s.code == cmdline.CodeOK || !strings.Contains(s.talk, `train.objective: objective "theirs", want a YAML file`) {
		t.Errorf("train --resume: exit code %d\n%s", s.code, s.talk)
	}
}

// printed runs the commands that commands print.
type printed struct {
	t   *testing.T
	ran []string
	all strings.Builder // all output
}

// aCommand matches a command line of the program in its output, up to the end of the line.
var aCommand = regexp.MustCompile(`(?m)(?:^|[ \t])(clustergym [a-z]+ -[^\n]*|clustergym (?:beliefs|env play) [^\n]*)$`)

// follow checks the exit code of a command and that it printed some texts, or that a command which it printed did, and runs the
// commands that it printed.
func (p *printed) follow(s said, code int, want ...string) {
	p.t.Helper()
	if s.code != code {
		p.t.Fatalf("exit code %d, want %d\n%s", s.code, code, s.talk)
	}
	from := p.all.Len()
	p.all.WriteString(s.out + s.talk)
	for _, m := range aCommand.FindAllStringSubmatch(s.out+s.talk, -1) {
		if !slices.Contains(p.ran, m[1]) {
			p.ran = append(p.ran, m[1])
			p.run(m[1])
		}
	}
	for _, w := range want {
		if !strings.Contains(p.all.String()[from:], w) {
			p.t.Errorf("no %q in\n%s", w, p.all.String()[from:])
		}
	}
}

// run runs a command line as a shell would, with flags that make it end soon, and follows what it prints.
func (p *printed) run(line string) {
	p.t.Helper()
	called, to, _ := strings.Cut(line, " > ")
	words, _ := shellWords(called)
	words = words[1:]
	switch words[0] {
	case "serve":
		url, _, end := serving(p.t, words[1:]...)
		fetch(p.t, http.MethodPost, url+"/v1/plan", must(p.t, "plan", "--example").out)
		if code := end(); code != cmdline.CodeOK {
			p.t.Errorf("%s: exit code %d", line, code)
		}
		return
	case "eval":
		words = append(words, "--windows", "1", "--seeds", "1", "--figures", "none")
	case "env":
		words = append(words, "--rounds", "2")
	case "train":
		if at := slices.Index(words, "--dir"); !slices.Contains(words, "--resume") {
			words[at+1] += "-again" // the folder holds the run that printed the command
		}
	}
	s := command(p.t, words...)
	if s.code != cmdline.CodeOK {
		p.t.Fatalf("%s: exit code %d\n%s", line, s.code, s.talk)
	}
	if to != "" {
		if err := os.WriteFile(to, []byte(s.out), 0o666); err != nil {
			p.t.Fatal(err)
		}
	}
	p.follow(s, cmdline.CodeOK)
}
