package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/work"
)

// TestEvalWithWorkersWritesTheSameBytes checks that worker processes change nothing in the results, for baselines, for one that is
// fitted, and for a policy from a folder; and that finished cases are not played again.
func TestEvalWithWorkersWritesTheSameBytes(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv(mainVariable, "1") // for the workers
	require.Do(t, os.CopyFS("mine", released.FS()))
	args := []string{"eval", "-s", "embedded-small-v1,loaning-small-v1", "-p", "fifo,a-srpt:predictor=fitted,x=mine,prior",
		"--objective", "tail,tariff",
		"--windows", "2", "--parquet", "--seeds", "2", "--out"}
	must(t, append(args, "alone")...)
	s := must(t, append(args, "pooled", "--workers", "2")...)
	sameFiles(t, evaluation(t, "pooled"), evaluation(t, "alone"))
	contains(t, s.talk, "40/40")
	s = must(t, append(args, "pooled", "--workers", "2", "--policies", "las")...)
	contains(t, s.talk, "48/48")
	if s := command(t, append(args, "pooled", "--workers", "-1")...); s.code != cmdline.CodeUsage {
		t.Errorf("exit code %d\n%s", s.code, s.talk)
	}
}

// openedJob opens the job of an evaluation, after a change, as a worker does.
func openedJob(t *testing.T, change func(string) string) error {
	t.Helper()
	o := &evalOptions{Scenarios: []string{"embedded-small-v1"}, Policies: []string{"fifo", "mine"}, Baseline: "fifo", Split: "test",
		Pool: poolOptions{Workers: 1}}
	a := &app{App: cmdline.New(strings.NewReader(""), os.Stdout, os.Stderr)}
	policies := require.Get(a.findPolicies(o.Policies, o.Baseline))(t)
	suites := require.Get(o.open())(t)
	plan, err := o.plan(suites, policies)
	require.Do(t, err)
	_, err = a.openJob(t.Context(), nil, []byte(caseJob+"\n"+change(string(plan.Job))))
	return err
}

// TestOtherJobsAreRefused checks that a worker does not play what the learner did not mean.
func TestOtherJobsAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	require.Do(t, os.CopyFS("mine", released.FS()))
	if err := openedJob(t, func(text string) string { return text }); err != nil {
		t.Errorf("the job itself: %v", err)
	}
	for _, test := range []struct{ old, now, want string }{
		{"sha256: ", "sha256: 0", "is it the same trace?"},
		{"split: test", "split: other", "no windows of other"},
		{"- mine", "- fifo", "two policies have the name"},
		{"- mine", "- srtf", "policy released"},
		{"- mine", "- missing", "missing"},
		{"name: fifo", "name: other", "policy other"},
		{"seeds: [", "windows: [9999]\n    seeds: [", "window 9999 of test"},
		{"split: test", "split: test\nmore: 1", "more"},
	} {
		err := openedJob(t, func(text string) string { return strings.Replace(text, test.old, test.now, 1) })
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "open job") {
			t.Errorf("%s for %s: error %v, want one with %q", test.now, test.old, err, test.want)
		}
	}
	if _, err := (&app{}).openJob(t.Context(), nil, []byte("other\n")); err == nil || !strings.Contains(err.Error(), `kind "other"`) {
		t.Errorf("another kind: error %v", err)
	}
}

// TestAnInterruptEndsTheWaitForABroker checks that the first signal ends a command that waits for a broker that is away.
func TestAnInterruptEndsTheWaitForABroker(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, args := range map[string][]string{
		"run/run.yaml": small("run"), "out/journal.jsonl": {"eval", "-s", "embedded-small-v1", "-p", "fifo", "--out", "out"},
	} {
		cmd := inProcess(t.Context(), append(args, "--broker", "nats://127.0.0.1:1")...)
		p := launch(t, args[0], cmd)
		for { // until it is about to wait
			if _, err := os.Stat(file); err == nil {
				break
			}
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		require.Do(t, cmd.Process.Signal(syscall.SIGINT))
		<-p.ended
		if code := cmd.ProcessState.ExitCode(); code != cmdline.CodeInterrupted || time.Since(began) > brokerWait/2 {
			t.Errorf("%s: exit code %d after %v, want %d\n%s", args[0], code, time.Since(began), cmdline.CodeInterrupted, p.text())
		}
		contains(t, p.text(), "wait for the broker at nats://127.0.0.1:1")
	}
}

// TestTheFolderSaysHowToReachTheBroker checks that commands on this machine need no flags: the file names the certificates and
// credentials by their whole paths. It also checks which address is printed for other machines.
func TestTheFolderSaysHowToReachTheBroker(t *testing.T) {
	t.Chdir(t.TempDir())
	p := &workerPool{dir: "run", ctx: context.Background()}
	p.access = work.Access{URL: "tls://nats.example:4222", CA: "ca.pem", Creds: "mine.creds", Queue: "q"}
	require.Do(t, p.writeContact())
	here := require.Get(os.Getwd())(t)
	want := p.access
	want.CA, want.Creds = filepath.Join(here, "ca.pem"), filepath.Join(here, "mine.creds")
	found := workersOptions{Dir: "run"}
	if got, err := found.find(); got != want || err != nil || p.elsewhere() != want.URL {
		t.Errorf("found %+v, error %v, want %+v; other machines: %s", got, err, want, p.elsewhere())
	}
	found.CA = "other.pem"
	if got, err := found.find(); err != nil || got.CA != "other.pem" {
		t.Errorf("--ca is replaced by %q (%v)", got.CA, err)
	}
	(&workerPool{dir: "run", ctx: context.Background()}).finish(false) // of a command that failed before its work began
	if _, err := os.Stat(filepath.Join("run", contactName)); err != nil {
		t.Errorf("another command has removed what the folder says: %v", err)
	}
	p.finish(true)
	if _, err := os.Stat(filepath.Join("run", contactName)); !os.IsNotExist(err) {
		t.Errorf("the folder stays: %v", err)
	}
}
