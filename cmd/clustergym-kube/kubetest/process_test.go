package kubetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// observed is a test whose result another test examines.
type observed struct {
	testing.TB
	said            strings.Builder
	failed, skipped bool
	cleanups        []func()
}

func (o *observed) Failed() bool              { return o.failed }
func (o *observed) Cleanup(f func())          { o.cleanups = append(o.cleanups, f) }
func (o *observed) Log(args ...any)           { fmt.Fprintln(&o.said, args...) }
func (o *observed) Logf(f string, a ...any)   { o.Log(fmt.Sprintf(f, a...)) }
func (o *observed) Fatal(args ...any)         { o.Log(args...); o.failed = true; panic(o) }
func (o *observed) Fatalf(f string, a ...any) { o.Fatal(fmt.Sprintf(f, a...)) }
func (o *observed) Skip(args ...any)          { o.Log(args...); o.skipped = true; panic(o) }

// observe runs a test to its end and returns its result.
func observe(t *testing.T, test func(tb testing.TB)) *observed {
	t.Helper()
	o := &observed{TB: t}
	func() {
		defer func() {
			if end := recover(); end != nil && end != any(o) {
				panic(end)
			}
		}()
		test(o)
	}()
	for _, f := range o.cleanups {
		f()
	}
	return o
}

func TestMissingProgramsSkipTestsButFailInCI(t *testing.T) {
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir())
	for ci, fails := range map[string]bool{"": false, "true": true} {
		t.Setenv("CI", ci)
		o := observe(t, func(tb testing.TB) { Assets(tb) })
		if o.failed != fails || o.skipped == fails || !strings.Contains(o.said.String(), "want etcd in") {
			t.Errorf("with CI=%q it failed %t, was skipped %t and said %q", ci, o.failed, o.skipped, o.said.String())
		}
	}
}

// shell starts a shell command as a process.
func shell(c *Cluster, name, line string) *Process { return c.Run(name, "/bin/sh", "-c", line) }

func never(context.Context) error { return errors.New("not ready") }

func TestAProgramThatFailsIsShownWithTheEndOfItsLog(t *testing.T) {
	o := observe(t, func(tb testing.TB) {
		c := &Cluster{tb: tb, Dir: t.TempDir(), Logs: t.TempDir()}
		tb.Cleanup(c.stop)
		shell(c, "other", "echo other is well; exec sleep 600")
		c.onFreePort("broken", func(int) (*Process, func(context.Context) error) {
			return shell(c, "broken", "for i in $(seq 100); do echo line $i.; done; exit 3"), never
		})
	})
	said := o.said.String()
	for _, want := range []string{
		"start broken: the program has ended (exit status 3)", "other is well", "line 71.\n", "line 100.",
	} {
		if !o.failed || !strings.Contains(said, want) {
			t.Errorf("it failed %t and said %q, want %q in it", o.failed, said, want)
		}
	}
	if strings.Contains(said, "line 70.") {
		t.Errorf("it said %q, want the last 30 lines only", said)
	}
}

func TestAnotherPortIsTriedWhereOneWasTakenAtTheLastMoment(t *testing.T) {
	c := &Cluster{tb: t, Dir: t.TempDir(), Logs: t.TempDir()}
	defer c.stop()
	var ports []int
	c.onFreePort("late", func(port int) (*Process, func(context.Context) error) {
		if ports = append(ports, port); len(ports) < 3 {
			return shell(c, "late", "echo bind: address already in use; exit 1"), never
		}
		return shell(c, "late", "exec sleep 600"), func(context.Context) error { return nil }
	})
	if len(ports) != 3 || ports[0] == ports[1] && ports[1] == ports[2] {
		t.Errorf("ports %v were tried, want 3", ports)
	}
}
