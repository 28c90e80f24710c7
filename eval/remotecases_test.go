package eval

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// inProcess is a pool whose only worker is the one that waits.
type inProcess struct {
	play   func(ctx context.Context, unit int) ([]byte, error)
	change func(unit int, answer []byte) []byte // makes answers wrong; may be nil

	take  func(unit int, answer []byte) (refused, failed error)
	given []int
	why   []error // why answers were refused
}

func (p *inProcess) Start(_ []byte, take func(unit int, answer []byte) (refused, failed error)) error {
	p.take = take
	return nil
}

func (p *inProcess) Give(units ...int) { p.given = append(p.given, units...) }

func (p *inProcess) Wait(ctx context.Context, units ...int) error {
	for _, unit := range units {
		right, err := p.play(ctx, unit)
		if err != nil {
			return err
		}
		if p.change != nil {
			if refused, _ := p.take(unit, p.change(unit, bytes.Clone(right))); refused != nil {
				p.why = append(p.why, refused)
			}
		}
		if refused, failed := p.take(unit, right); refused != nil || failed != nil {
			return errors.Join(refused, failed)
		}
	}
	return nil
}

// elsewherePlan returns a plan with a policy that fails, and its pool.
func elsewherePlan(t testing.TB) (Plan, *inProcess) {
	t.Helper()
	make := func() Plan {
		plan := smallPlan(t, "fifo", "srtf")
		plan.Policies = append(plan.Policies, policy.Policy{Name: "bad", New: func() (cluster.Scheduler, error) {
			return &script{"bad", func(*cluster.Txn) error { return errors.New("broken\nin two lines") }}, nil
		}})
		return plan
	}
	player := must.Get(NewPlayer(make()))(t)
	plan, pool := make(), &inProcess{play: player.Play}
	plan.Pool = pool
	return plan, pool
}

// TestElsewhereEqualsHere checks that cases that other processes play have the same results, the same errors and the same files as
// those that Run plays itself, and that finished cases are not given out again.
func TestElsewhereEqualsHere(t *testing.T) {
	plan, pool := elsewherePlan(t)
	here := plan
	here.Pool, here.Journal, plan.Journal = nil, t.TempDir(), t.TempDir()
	want, wantErr := Run(t.Context(), here, nil)
	got, err := Run(t.Context(), plan, nil)
	if err == nil || wantErr == nil || err.Error() != wantErr.Error() {
		t.Errorf("error %v, want %v", err, wantErr)
	}
	var a, b bytes.Buffer
	must.Do(t, errors.Join(WriteJSONL(&a, got), WriteJSONL(&b, want)))
	if a.String() != b.String() || len(pool.given) != len(plan.Cases()) {
		t.Errorf("results differ, or %d of %d cases were given out", len(pool.given), len(plan.Cases()))
	}
	sameFolder(t, plan.Journal, here.Journal)
	pool.given = nil
	if _, err := Run(t.Context(), plan, nil); err == nil || len(pool.given) != len(plan.Cases())/3 {
		t.Errorf("%d cases given out again (%v), want only the failed ones", len(pool.given), err)
	}
}

func sameFolder(t *testing.T, got, want string) {
	t.Helper()
	files := func(dir string) map[string]string {
		all := map[string]string{}
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				var text []byte
				text, err = os.ReadFile(path)
				all[strings.TrimPrefix(path, dir)] = string(text)
			}
			return err
		})
		must.Do(t, err)
		return all
	}
	if a, b := files(got), files(want); !maps.Equal(a, b) || len(a) < 4 {
		t.Errorf("the folders have %d and %d files, and differ", len(a), len(b))
	}
}

// TestWrongAnswersAreRefused checks that answers that no other process would give by playing the case are refused, with the
// reason, and that the result is the same.
func TestWrongAnswersAreRefused(t *testing.T) {
	line := func(change func(*answer)) func(int, []byte) []byte {
		return func(_ int, data []byte) []byte {
			end := bytes.IndexByte(data, '\n') + 1
			a := &answer{}
			must.Do(t, unseal(data[:end], a))
			change(a)
			text := must.Get(seal(a))(t)
			return append(text, data[end:]...)
		}
	}
	for _, test := range []struct {
		change func(unit int, answer []byte) []byte
		want   string
	}{
		{func(int, []byte) []byte { return nil }, "no line"},
		{func(_ int, data []byte) []byte { return append([]byte(" "), data...) }, "checksum"},
		{func(_ int, data []byte) []byte { return data[:len(data)-1] }, "EOF"},
		{func(_ int, data []byte) []byte { return append(data, 0) }, "event log"},
		{line(func(a *answer) { a.Result.Window = "test-9" }), "want that of"},
		{line(func(a *answer) { *a = answer{} }), "invalid"},
		{line(func(a *answer) { a.Failed = "x" }), "want a result or the reason"},
		{line(func(a *answer) { a.Case, a.Result, a.Failed = &a.Result.Case, nil, "\x1b[2J" }), "printable"},
		{line(func(a *answer) { a.Case, a.Result, a.Failed = &a.Result.Case, nil, "x" }), "bytes after the result"},
		{line(func(a *answer) { a.Result, a.Failed = nil, "x" }), "the case that failed"},
		{line(func(a *answer) { a.Case = &a.Result.Case }), "only then"},
		{line(func(a *answer) {
			a.Case, a.Result, a.Failed = &a.Result.Case, nil, "x"
			a.Case.Seed++
		}), "want that of"},
		{line(func(a *answer) { a.Result.SumJCT++ }), "event log of another episode"},
	} {
		plan, pool := elsewherePlan(t)
		plan.Policies = plan.Policies[:1]
		short := must.Get(NewPlayer(plan))(t)
		pool.play = short.Play
		pool.change = func(unit int, data []byte) []byte {
			if unit > 0 { // only that of case 0 has a log
				return nil
			}
			return test.change(unit, data)
		}
		must.Get(Run(t.Context(), plan, nil))(t)
		if len(pool.why) != len(plan.Cases()) || !strings.Contains(pool.why[0].Error(), test.want) {
			t.Errorf("refused %d answers of %d, want all, the first with %q: %v", len(pool.why), len(plan.Cases()), test.want, pool.why)
		}
	}
}

// TestLargeLogsAreWrittenHere checks that a case whose event log is too large to be sent is played by the process that needs it.
func TestLargeLogsAreWrittenHere(t *testing.T) {
	plan, pool := elsewherePlan(t)
	plan.Policies = plan.Policies[:2]
	want := must.Get(Run(t.Context(), Plan{Suites: plan.Suites, Policies: plan.Policies}, nil))(t)
	player := must.Get(NewPlayer(plan))(t)
	pool.play = func(ctx context.Context, unit int) ([]byte, error) {
		res, err := player.plan.play(ctx, &player.tasks[unit], &plan.Policies[player.tasks[unit].policy])
		if err != nil {
			return nil, err
		}
		return encodeAnswer(&answer{Result: res, Large: res.Log != nil}, nil)
	}
	var last Progress
	got := must.Get(Run(t.Context(), plan, func(p Progress) { last = p }))(t)
	for i := range want {
		if (got[i].Log == nil) != (want[i].Log == nil) || got[i].SumJCT != want[i].SumJCT {
			t.Errorf("case %v: log %t, want %t", want[i].Case, got[i].Log != nil, want[i].Log != nil)
		}
	}
	if last.Done != len(want) {
		t.Errorf("%d of %d cases done", last.Done, len(want))
	}
}

// FuzzAnswer checks that an answer that is accepted has one form, and that no answer panics.
func FuzzAnswer(f *testing.F) {
	plan, pool := elsewherePlan(f)
	cases := plan.Cases()
	for _, i := range []int{0, 2, 3, len(cases) - 1} {
		data := must.Get(pool.play(f.Context(), i))(f)
		f.Add(data, i < 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, keeps bool) {
		a, err := parseAnswer(data, &cases[0], keeps)
		if err != nil {
			return
		}
		if a.Result != nil && a.Result.Case != cases[0] || (a.Result == nil) == (a.Failed == "") {
			t.Errorf("accepted %+v", a)
		}
	})
}
