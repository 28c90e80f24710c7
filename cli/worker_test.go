package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/folderlock"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/internal/work/worktest"
)

// mainVariable makes the test's program behave as clustergym, so that tests can start it and the workers that it starts.
const mainVariable = "CLUSTERGYM_TEST_MAIN"

// TestMain runs the tests, or clustergym.
func TestMain(m *testing.M) {
	if os.Getenv(mainVariable) == "" {
		os.Exit(m.Run())
	}
	if len(os.Args) > 2 && os.Args[1] == "test-broker" {
		testBroker(os.Args[2:])
	}
	Main()
}

// inProcess returns a command that runs clustergym in a process of its own.
func inProcess(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainVariable+"=1")
	return cmd
}

// small are the flags of a run with a second's labels.
func small(dir string) []string {
	args := []string{"train", "--scenario", "embedded-small-v1", "--updates", "6", "--dir", dir, "--cores", "1"}
	for _, set := range []string{
		"scenario.cluster.servers=4", "scenario.cluster.gpus_per_server=4", "scenario.workload.jobs=600", "scenario.window.arrivals=40",
		"train.expert=5", "train.every=1", "train.window=6", "train.prior=sjfskip", "train.validation=1", "train.windows=6",
		"train.choices=60", "train.batch=60", "train.rollouts=1", "train.label=0.6", "train.size.width=8", "train.size.heads=2",
		"train.size.hidden=4", "train.size.rank=2", "train.size.kappa=2", "train.size.inducing=2",
	} {
		args = append(args, "--set", set)
	}
	return args
}

// outcome reads the files of a run that are equal for equal runs.
func outcome(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		if err != nil || d.IsDir() || name == "timing.jsonl" || strings.HasPrefix(name, "events.") ||
			strings.HasPrefix(d.Name(), ".") { // a killed process leaves its lock and unfinished files

			return err
		}
		text, err := os.ReadFile(path)
		out[name] = string(text)
		return err
	})
	require.Do(t, err)
	return out
}

// equal compares the outcomes of two runs. Checkpoints that only one of them kept do not count.
func equal(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		other, ok := got[name]
		if !ok && strings.HasPrefix(name, "checkpoints/") && !strings.Contains(name, "000006") {
			continue
		}
		if other != text {
			t.Errorf("%s: differs, or is missing (%t)", name, !ok)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && !strings.HasPrefix(name, "checkpoints/") {
			t.Errorf("%s: only with workers", name)
		}
	}
}

// TestWorkersGiveTheSameBytes checks that a run with worker processes stores what a run without them does, and that the workers
// of the run can be shown while it is in progress.
func TestWorkersGiveTheSameBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(mainVariable, "1") // for the workers
	must(t, small("alone")...)
	must(t, append(small("pooled"), "--workers", "2", "--resume")...)
	equal(t, outcome(t, "pooled"), outcome(t, "alone"))
	if s := must(t, "train", "--resume", "--dir", "pooled"); !strings.Contains(s.out, "6 of 6 updates") {
		t.Errorf("a run that has ended is not resumed:\n%s", s.out)
	}
	for _, args := range [][]string{
		{"train", "--workers", "-1"}, {"train", "--listen", "127.0.0.1:0"},
		{"train", "--listen", "0.0.0.0:0", "--token-file", file(t, "token", "sixteen bytes and more")},
		{"train", "--workers", "1", "--queue", "a.b"},
		{"train", "--listen", "127.0.0.1:0", "--broker", "nats://127.0.0.1:1"}, {"train", "--broker", "nats://nats.example:4222"},
		{"worker", "--connect", "nats://nats.example:4222"}, {"workers"},
	} {
		if args[0] == "train" {
			args = append(args, "--scenario", "embedded-small-v1")
		}
		if s := command(t, args...); s.code != cmdline.CodeUsage {
			t.Errorf("%v: exit code %d\n%s", args, s.code, s.talk)
		}
	}
	if s := command(t, "workers", "--dir", "pooled"); s.code != cmdline.CodeNoRun {
		t.Errorf("workers of a run that has ended: exit code %d\n%s", s.code, s.talk)
	}
}

// TestASecondLearnerChangesNothing checks that a run that is refused, because its folder is in use or holds a run, leaves the way to
// the broker there as it is.
func TestASecondLearnerChangesNothing(t *testing.T) {
	dir := t.TempDir()
	unlock := require.Get(folderlock.Acquire(dir))(t)
	path := filepath.Join(dir, contactName)
	require.Do(t, os.WriteFile(path, []byte(`{"URL": "nats://127.0.0.1:1"}`), 0o600))
	if s := command(t, append(small(dir), "--workers", "1")...); !strings.Contains(s.talk, "is in use by") {
		t.Errorf("exit code %d\n%s", s.code, s.talk)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	unlock()
	require.Do(t, os.WriteFile(filepath.Join(dir, "run.yaml"), nil, 0o666))
	if s := command(t, append(small(dir), "--workers", "1")...); !strings.Contains(s.talk, "holds a run already") {
		t.Errorf("exit code %d\n%s", s.code, s.talk)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// TestWorkersOfAFolder checks that a run in progress is found by its folder alone, whatever its queue, and that a folder without a
// token is tried without one.
func TestWorkersOfAFolder(t *testing.T) {
	dir := t.TempDir()
	o := poolOptions{brokerOptions: brokerOptions{Token: file(t, "token", "sixteen bytes and more")}}
	o.Listen, o.Queue = "127.0.0.1:0", "mine"
	a := &app{App: cmdline.New(strings.NewReader(""), io.Discard, io.Discard)}
	p := require.Get(o.open(t.Context(), dir, a, func(error) {}, nil))(t)
	defer p.close(true)
	require.Do(t, p.of(trainJob).Start([]byte("job"), nil))
	if s := must(t, "workers", "--dir", dir, "--json"); !strings.Contains(s.out, `"queue": "mine"`) {
		t.Errorf("%s", s.out)
	}
	path := filepath.Join(dir, contactName)
	text := read(t, path)
	require.Do(t, os.WriteFile(path, []byte(strings.ReplaceAll(text, "sixteen bytes and more", "")), 0o600))
	if s := command(t, "workers", "--dir", dir); !strings.Contains(s.talk, "Authorization") {
		t.Errorf("without a token: %s", s.talk)
	}
}

// TestAnInterruptLetsTheUpdateFinish checks that a run with workers ends cleanly when a terminal interrupts all its processes, and
// that it can be resumed.
func TestAnInterruptLetsTheUpdateFinish(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, small("alone")...)
	cmd := inProcess(t.Context(), append(small("stopped"), "--workers", "2")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p := launch(t, "train", cmd)
	for { // until the first update is done
		text, _ := os.ReadFile(filepath.Join("stopped", "metrics.jsonl"))
		if len(text) > 0 {
			break
		}
		select {
		case <-p.ended:
			t.Fatalf("ended early:\n%s", p.text())
		case <-time.After(20 * time.Millisecond):
		}
	}
	require.Do(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGINT))
	<-p.ended
	if code := cmd.ProcessState.ExitCode(); code != cmdline.CodeInterrupted && code != cmdline.CodeOK {
		t.Errorf("exit code %d, want %d, or %d if it was at the end:\n%s", code, cmdline.CodeInterrupted, cmdline.CodeOK, p.text())
	}
	t.Setenv(mainVariable, "1")
	must(t, append(small("stopped"), "--workers", "1", "--resume")...)
	equal(t, outcome(t, "stopped"), outcome(t, "alone"))
}

// TestAnInterruptedWorkerEndsWithAnError checks that a worker that a signal ends does not look as if the work were done, whether it
// waits for the broker or for a learner.
func TestAnInterruptedWorkerEndsWithAnError(t *testing.T) {
	t.Setenv(tokenVariable, "sixteen bytes and more")
	b := require.Get(work.StartBroker(work.BrokerOptions{Address: "127.0.0.1:0", Token: "sixteen bytes and more"}))(t)
	defer b.Close()
	for _, url := range []string{"nats://127.0.0.1:1", b.URL()} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		s := commandWith(ctx, "", "worker", "--connect", url)
		cancel()
		if s.code != cmdline.CodeInterrupted {
			t.Errorf("%s: exit code %d\n%s", url, s.code, s.talk)
		}
	}
}

// testBroker runs a server of NATS with its files in a folder, on a port.
func testBroker(args []string) {
	port, _ := strconv.Atoi(args[1])
	fmt.Fprintln(os.Stderr, worktest.Serve(args[0], port))
	os.Exit(1)
}

var kills = flag.Int("kills", 10, "how many processes TestKills kills")

// TestKills checks that a run ends with the same bytes although its learner, workers and broker are killed at random, again and
// again. It counts the units that were computed: besides those in progress at a kill, no window is labelled twice. The rollouts of
// the last update are in the learner's memory only.
func TestKills(t *testing.T) {
	t.Chdir(t.TempDir())
	must(t, small("alone")...)
	ln := require.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	port := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	url := fmt.Sprintf("nats://127.0.0.1:%d", port)
	learner := append(small("killed"), "--broker", url)
	start := map[string]func() *exec.Cmd{
		"broker": func() *exec.Cmd { return inProcess(t.Context(), "test-broker", "store", strconv.Itoa(port)) },
		"learner": func() *exec.Cmd {
			args := learner
			if _, err := os.Stat(filepath.Join("killed", "run.yaml")); err == nil {
				args = append(slices.Clone(args), "--resume")
			}
			return inProcess(t.Context(), args...)
		},
	}
	for _, name := range []string{"worker-1", "worker-2"} {
		start[name] = func() *exec.Cmd { return inProcess(t.Context(), "worker", "--connect", url, "--name", name) }
	}
	names := slices.Sorted(maps.Keys(start))
	procs := map[string]*process{}
	for _, name := range names {
		procs[name] = launch(t, name, start[name]())
	}
	defer func() {
		for _, p := range procs {
			p.kill()
		}
	}()
	seed := uint64(time.Now().UnixNano()) // other times in every run of the test; any times must work
	draw := rand.New(rand.NewPCG(seed, 1))
	killed, inProgress, labelled := map[string]int{}, 0, 0
	const rollouts = 6 // of the update that follows those from labels
	round := 0
	for deadline := time.Now().Add(time.Duration(*kills)*20*time.Second + 5*time.Minute); ; {
		if time.Now().After(deadline) {
			for _, p := range procs {
				t.Logf("%s:\n%s", p.name, p.text())
			}
			t.Fatalf("not done after %v kills in %d rounds", killed, round)
		}
		done := false
		select {
		case <-procs["learner"].ended:
			if err := procs["learner"].err; err != nil {
				t.Fatalf("learner: %v\n%s", err, procs["learner"].text())
			}
			done = true
		case <-time.After(time.Duration(draw.IntN(1500)) * time.Millisecond):
		}
		total := 0
		for _, n := range killed {
			total += n
		}
		if done {
			round++
			equal(t, outcome(t, "killed"), outcome(t, "alone"))
			if total >= *kills || t.Failed() {
				break
			}
			for _, p := range procs { // the same again: a single run is too short for many kills
				labelled += p.computed()
				p.kill()
			}
			require.Do(t, os.RemoveAll("killed"))
			for _, name := range names {
				procs[name] = launch(t, name, start[name]())
			}
			continue
		}
		if total >= *kills {
			continue
		}
		name := names[draw.IntN(len(names))]
		labelled += procs[name].computed()
		procs[name].kill()
		killed[name]++
		inProgress += 2 // a kill costs at most the unit of each worker
		if name == "learner" {
			inProgress += rollouts
		}
		procs[name] = launch(t, name, start[name]())
	}
	for _, p := range procs {
		labelled += p.computed()
	}
	windows := round * (len(stored(t, "alone")) + rollouts)
	t.Logf("seed %d: %v killed in %d runs, %d units computed for %d", seed, killed, round, labelled, windows)
	if labelled > windows+inProgress {
		t.Errorf("%d units computed, want at most the %d of %d runs and %d in progress or in memory at kills", labelled, windows, round, inProgress)
	}
}

// stored returns the label files of a run.
func stored(t *testing.T, dir string) []string {
	paths, err := filepath.Glob(filepath.Join(dir, "labels", "*", "*.safetensors"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no labels in %s (%v)", dir, err)
	}
	return paths
}

// process is a process that a test started.
type process struct {
	name  string
	cmd   *exec.Cmd
	out   *os.File
	ended chan struct{} // closed when it has ended
	err   error         // with which it ended
}

func launch(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	out := require.Get(os.CreateTemp(t.TempDir(), name))(t)
	cmd.Stdout, cmd.Stderr = out, out
	require.Do(t, cmd.Start())
	p := &process{name: name, cmd: cmd, out: out, ended: make(chan struct{})}
	go func() { p.err = cmd.Wait(); close(p.ended) }()
	return p
}

// kill kills the process, if it has not ended, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

func (p *process) text() string {
	text, _ := os.ReadFile(p.out.Name())
	return string(text)
}

// computed returns how many units a worker says that it has computed.
func (p *process) computed() int { return strings.Count(p.text(), " took ") }
