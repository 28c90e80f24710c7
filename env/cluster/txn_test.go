package cluster

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/must"
	"pgregory.net/rapid"
)

// machine is a state under random operations, with the marks to which a rollback may return and a copy that must not change.
type machine struct {
	s      *State
	tx     *Txn
	marks  []mark
	copy   *State
	frozen picture // of the copy
	old    []mark  // of the copy
}

type mark struct {
	at  int
	was picture
}

func start(t *rapid.T, jobs int) *machine {
	spec := drawSpec(t)
	spec.NoPreemption = rapid.IntRange(0, 3).Draw(t, "preemption forbidden") == 0
	s := must.Get(NewState(spec, jobs))(t)
	m := &machine{s: s, tx: s.Begin(nil)}
	m.commit(t)
	return m
}

// TestTxnConserves runs random operations and checks these properties. GPUs, GPU memory, CPU, memory and quotas are conserved. A
// gang runs as a whole or not at all. An operation is allowed if and only if plain loops allow it, and one that is refused
// changes nothing. Rollback restores the marked state. A copy equals the original, behaves in the same way and is independent.
// Failures and the inference pool interrupt exactly the jobs that they affect.
func TestTxnConserves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := start(t, 10)
		t.Repeat(map[string]func(*rapid.T){
			"place":    m.place,
			"place 2":  m.place, // more often than the others
			"best fit": m.bestFit,
			"preempt":  m.preempt,
			"migrate":  func(t *rapid.T) { m.move(t, m.tx.Migrate, true) },
			"resize":   func(t *rapid.T) { m.move(t, m.tx.Resize, false) },
			"loan":     m.loan,
			"reclaim":  m.reclaim,
			"mark":     func(*rapid.T) { m.marks = append(m.marks, mark{m.tx.Mark(), portray(m.s)}) },
			"rollback": m.rollback,
			"copy":     m.fork,
			"undo":     m.undoCopy,
			"commit":   m.commit,
			"look":     m.look,
			"": func(t *rapid.T) {
				conserve(t, m.s)
				if m.copy != nil && !reflect.DeepEqual(portray(m.copy), m.frozen) {
					t.Fatalf("a copy became\n%+v, want\n%+v", portray(m.copy), m.frozen)
				}
			},
		})
	})
}

// expect checks that an operation succeeds if want is true, and otherwise fails without any effect.
func (m *machine) expect(t *rapid.T, want bool, do func() error) {
	was, mark := portray(m.s), m.tx.Mark()
	err := do()
	switch {
	case want && err != nil:
		t.Fatalf("refused: %v", err)
	case want && m.tx.Mark() != mark+1:
		t.Fatalf("%d operations recorded, want 1", m.tx.Mark()-mark)
	case !want && !errors.Is(err, ErrInfeasible):
		t.Fatalf("error %v, want ErrInfeasible", err)
	case !want && (m.tx.Mark() != mark || !reflect.DeepEqual(was, portray(m.s))):
		t.Fatalf("a refused operation changed the state\nfrom %+v\nto   %+v", was, portray(m.s))
	}
}

// pick draws a job, in most cases one in the given phase; it may also return -1 or another invalid id.
func (m *machine) pick(t *rapid.T, phase Phase) JobID {
	if rapid.IntRange(0, 9).Draw(t, "any job") == 0 {
		return JobID(rapid.IntRange(-1, m.s.Jobs()).Draw(t, "job"))
	}
	list := map[Phase][]JobID{Pending: m.s.pending, Running: m.s.running}[phase]
	if len(list) == 0 {
		t.Skip("no job in this phase")
	}
	return rapid.SampledFrom(slices.Clone(list)).Draw(t, "job")
}

func (m *machine) is(id JobID, phase Phase) bool {
	return id >= 0 && int(id) < m.s.Jobs() && m.s.Phase(id) == phase
}

func (m *machine) place(t *rapid.T) {
	id := m.pick(t, Pending)
	if !m.is(id, Pending) {
		m.expect(t, false, func() error { return m.tx.Place(id, nil) })
		return
	}
	p := drawPlacement(t, m.s, id)
	m.expect(t, allows(m.s, id, p, -1), func() error { return m.tx.Place(id, p) })
	if m.is(id, Running) && !slices.Equal(m.s.Placement(id), p) {
		t.Fatalf("placed on %v, want %v", m.s.Placement(id), p)
	}
}

// bestFit checks that BestFit and BestFitAlone choose the servers that plain loops choose, and that Place accepts what BestFit
// proposes.
func (m *machine) bestFit(t *rapid.T) {
	id := m.pick(t, Pending)
	if !m.is(id, Pending) {
		t.Skip("not pending")
	}
	spec := m.s.Spec(id)
	got, ok := m.s.BestFit(id, nil)
	want, fits := bestFit(m.s, id, spec.Workers, spec.Request, spec.Request)
	if ok != fits || ok && !slices.Equal(got, want) {
		t.Fatalf("best fit of %+v: %v, %v; want %v, %v", spec, got, ok, want, fits)
	}
	n, hold := rapid.Int32Range(1, 9).Draw(t, "workers alone"), drawAmount(t)
	need := hold
	need.GPUMilli = WholeGPU
	apart, able := m.s.BestFitAlone(id, n, hold, nil)
	want, fits = bestFit(m.s, id, n, hold, need)
	if able != fits || able && !slices.Equal(apart, want) {
		t.Fatalf("best fit of %d workers of %+v, %+v each, alone: %v, %v; want %v, %v", n, spec, hold, apart, able, want, fits)
	}
	if ok {
		m.expect(t, true, func() error { return m.tx.Place(id, got) })
	}
}

func (m *machine) preempt(t *rapid.T) {
	id := m.pick(t, Running)
	m.expect(t, m.mayChange(id), func() error { return m.tx.Preempt(id) })
}

// mayChange reports whether the job runs and either preemption is allowed or the job did not run when the transaction began.
func (m *machine) mayChange(id JobID) bool {
	if !m.is(id, Running) || !m.s.NoPreemption() {
		return m.is(id, Running)
	}
	for _, o := range m.tx.Ops() {
		if o.Job == id && o.Kind != OpLoan && o.Kind != OpReclaim {
			return o.Before() == nil // it is the first one about the job
		}
	}
	return false
}

func (m *machine) move(t *rapid.T, do func(JobID, Placement) error, same bool) {
	id := m.pick(t, Running)
	if !m.is(id, Running) {
		m.expect(t, false, func() error { return do(id, nil) })
		return
	}
	p := drawPlacement(t, m.s, id)
	ok := m.mayChange(id) && allows(m.s, id, p, id) && (!same || p.Workers() == m.s.Placement(id).Workers())
	m.expect(t, ok, func() error { return do(id, p) })
	if ok && !slices.Equal(m.s.Placement(id), p) {
		t.Fatalf("moved to %v, want %v", m.s.Placement(id), p)
	}
}

func (m *machine) loan(t *rapid.T) {
	id := rapid.SampledFrom(serverIDs(m.s)).Draw(t, "server")
	l := recount(m.s, -1)
	ok := m.s.Server(id).Pool == Inference && !m.s.OnLoan(id) && !m.s.Down(id) && l.lent() < m.s.Offer()
	m.expect(t, ok, func() error { return m.tx.Loan(id) })
}

func (m *machine) reclaim(t *rapid.T) {
	id := rapid.SampledFrom(serverIDs(m.s)).Draw(t, "server")
	l := recount(m.s, -1)
	m.expect(t, m.s.OnLoan(id) && len(l.jobs[id]) == 0, func() error { return m.tx.Reclaim(id) })
}

func (m *machine) rollback(t *rapid.T) {
	if len(m.marks) == 0 {
		t.Skip("nothing marked")
	}
	m.marks = back(t, m.s, m.marks)
}

// back rolls a state back to one of its marks and returns the marks before that one.
func back(t *rapid.T, s *State, marks []mark) []mark {
	n := rapid.IntRange(0, len(marks)-1).Draw(t, "mark")
	s.Txn().Rollback(marks[n].at)
	if got := portray(s); !reflect.DeepEqual(got, marks[n].was) {
		t.Fatalf("rolled back to\n%+v, want\n%+v", got, marks[n].was)
	}
	return marks[:n+1]
}

// fork copies the state over an earlier copy. From then on one of the two stays unchanged while the test continues with the
// other.
func (m *machine) fork(t *rapid.T) {
	was := portray(m.s)
	if m.copy == nil {
		m.copy = new(State)
		if rapid.Bool().Draw(t, "over another cluster") {
			m.copy = start(t, 3).s
		}
	}
	m.s.CopyTo(m.copy)
	if got := portray(m.copy); !reflect.DeepEqual(got, was) {
		t.Fatalf("copied\n%+v, got\n%+v", was, got)
	}
	if rapid.Bool().Draw(t, "go on with the copy") {
		m.s, m.copy = m.copy, m.s
		m.tx = m.s.Txn()
	}
	m.frozen, m.old = was, slices.Clone(m.marks)
}

// undoCopy rolls back the transaction of the unchanged copy, long after the copy was made.
func (m *machine) undoCopy(t *rapid.T) {
	if len(m.old) == 0 {
		t.Skip("nothing marked")
	}
	m.old = back(t, m.copy, m.old)
	m.frozen = portray(m.copy)
}

// commit ends the transaction, advances time, lets jobs finish and arrive, changes servers and the offer of the inference pool,
// and begins the next transaction.
func (m *machine) commit(t *rapid.T) {
	m.tx.End()
	m.marks = nil
	m.s.Advance(m.s.Now() + time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "pass")))
	for _, id := range slices.Clone(m.s.running) {
		switch rapid.IntRange(0, 3).Draw(t, "fate") {
		case 0:
			m.s.Finish(id)
		case 1:
			rate := rapid.Float64Range(0.1, 2).Draw(t, "rate")
			m.s.SetProgress(id, m.s.Progress(id)/rapid.SampledFrom([]time.Duration{1, 1, 2}).Draw(t, "lose"), m.s.Now()+time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "restart")), rate)
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "anything breaks") == 0 {
		m.breaks(t)
	}
	m.measure(t)
	m.lend(t)
	m.grow(t)
	for i := range m.s.Jobs() {
		if m.s.Phase(JobID(i)) == Unsubmitted && rapid.Bool().Draw(t, "submit") {
			name := string(rune('a' + i))
			if i > 0 && m.s.Spec(JobID(i-1)) != nil && rapid.Bool().Draw(t, "as the one before") {
				m.s.Submit(JobID(i), drawTwin(t, m.s.Spec(JobID(i-1)), name, m.s.Now()))
			} else {
				m.s.Submit(JobID(i), drawJob(t, name, m.s.Now()))
			}
		}
	}
	m.tx = m.s.Begin(nil)
}

// TestProgressAndService checks that attained service is the GPU-time held and that progress is time multiplied by the rate, also
// across a preemption.
func TestProgressAndService(t *testing.T) {
	s := must.Get(NewState(Uniform(1, 4), 1))(t)
	s.Submit(0, &JobSpec{Name: "a", Workers: 2, Request: Amount{GPUMilli: WholeGPU}, Estimate: 100 * time.Second})
	tx := s.Begin(nil)
	must.Do(t, tx.Place(0, Placement{{Server: 0, Workers: 2, Amount: Amount{GPUMilli: WholeGPU}}}))
	tx.End()
	s.SetProgress(0, 0, 5*time.Second, 0.5)
	expect := func(progress, attained time.Duration, rate float64) {
		t.Helper()
		if s.Progress(0) != progress || s.Attained(0) != attained || s.Rate(0) != rate {
			t.Errorf("at %v: progress %v, attained %v, rate %v; want %v, %v, %v",
				s.Now(), s.Progress(0), s.Attained(0), s.Rate(0), progress, attained, rate)
		}
	}
	s.Advance(3 * time.Second)
	expect(0, 6*time.Second, 0)
	if got := s.ExpectedFinish(0); got != 205*time.Second {
		t.Errorf("expected finish %v, want 205s", got)
	}
	s.Advance(15 * time.Second)
	expect(5*time.Second, 30*time.Second, 0.5)
	tx = s.Begin(nil)
	must.Do(t, tx.Preempt(0))
	tx.End()
	s.Advance(99 * time.Second)
	expect(5*time.Second, 30*time.Second, 0)
	if left, ok := s.Remaining(0); left != 95*time.Second || !ok {
		t.Errorf("remaining %v, %v, want 95s", left, ok)
	}
}

// TestRefusalsAreCounted checks that Refused counts every operation that the state does not allow, until the next transaction
// begins.
func TestRefusalsAreCounted(t *testing.T) {
	s, err := NewState(Spec{Servers: []ServerSpec{{Name: "a", GPUs: 1}, {Name: "b", GPUs: 1, Pool: Inference}}}, 2)
	if err != nil {
		t.Fatal(err)
	}
	one := Amount{GPUMilli: WholeGPU}
	for id := range JobID(2) {
		s.Submit(id, &JobSpec{Workers: 1, Request: one})
	}
	here := Placement{{Server: 0, Workers: 1, Amount: one}}
	tx := s.Begin(nil)
	for i, op := range []struct {
		err     error
		refused bool
	}{
		{tx.Place(0, here), false}, {tx.Place(1, here), true}, {tx.Preempt(1), true}, {tx.Migrate(1, here), true},
		{tx.Resize(0, Placement{}), true}, {tx.Loan(1), false}, {tx.Loan(1), true}, {tx.Reclaim(1), false}, {tx.Reclaim(0), true},
		{tx.Preempt(0), false},
	} {
		if (op.err != nil) != op.refused {
			t.Fatalf("operation %d: %v", i, op.err)
		}
	}
	if got := tx.Refused(); got != 6 {
		t.Errorf("%d refused, want 6", got)
	}
	tx.End()
	if got := s.Begin(nil).Refused(); got != 0 {
		t.Errorf("%d refused in a new transaction", got)
	}
}
