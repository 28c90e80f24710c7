package decide

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
	"github.com/clustergym/clustergym/policy"
)

// memory is what a decider has learned from the states that it decided. It is safe for concurrent use.
type memory struct {
	mu      sync.Mutex
	learned *belief.Memory // nil if no policy asks for it
	shared  *belief.Memory // a copy that never changes, for decisions; nil if it must be made anew
	text    []byte         // what was learned when the memory was opened, for the decision log; nil once it is there
	changed bool           // since the last save
	later   bool           // whether there was a state since the last save, which may have changed nothing
	skipped string         // why nothing was learned from the state before, as the log says; "" if something was

	saving sync.Mutex
	saved  time.Time
}

// ReadBeliefs reads a file of beliefs.
func ReadBeliefs(path string) (*belief.Memory, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read beliefs: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, belief.MaxMemory+1))
	if err != nil {
		return nil, fmt.Errorf("read beliefs: %w", err)
	}
	m := belief.NewMemory()
	if err := m.Restore(text); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// WriteBeliefs replaces a file of beliefs. A reader finds the old content or the new, also after a crash. Only the owner can read
// it, because it contains names of users and jobs.
func WriteBeliefs(path string, m *belief.Memory) error {
	if err := atomicfile.WriteBytes(path, 0o600, m.Save()); err != nil {
		return fmt.Errorf("save beliefs: %w", err)
	}
	return nil
}

// LockBeliefs keeps other processes from writing a file of beliefs until release is called or the process ends. Otherwise each
// would replace what the other has learned. It removes what a killed process has left half written beside the file.
func LockBeliefs(path string) (release func(), err error) {
	release, err = folderlock.AcquireFile(path)
	if err != nil {
		return nil, fmt.Errorf("save beliefs: %w", err)
	}
	if err := atomicfile.CleanFile(path); err != nil {
		release()
		return nil, fmt.Errorf("save beliefs: %w", err)
	}
	return release, nil
}

// Recall begins with what the file of beliefs contains, in place of what was learned so far. If there is no file, it begins with
// nothing and writes a file. It does nothing if the decider has no file. After an error, nothing has changed.
func (d *Decider) Recall() error {
	if d.Beliefs == "" {
		return nil
	}
	m, err := ReadBeliefs(d.Beliefs)
	if errors.Is(err, fs.ErrNotExist) {
		m = belief.NewMemory()
		err = WriteBeliefs(d.Beliefs, m) // so that a file that cannot be written is noticed now
	}
	if err != nil {
		return err
	}
	d.memory.mu.Lock()
	defer d.memory.mu.Unlock()
	d.memory.open(m)
	return nil
}

// open makes the memory that of what was learned. The caller holds mu, as for learn and share.
func (m *memory) open(learned *belief.Memory) {
	m.learned, m.shared, m.text, m.changed, m.later = learned, nil, learned.Save(), false, false
}

// learn learns from a state.
func (m *memory) learn(s *cluster.View, away func(name string) bool) belief.Lesson {
	l := m.learned.Learn(s, away)
	if l.Ended > 0 || l.Readings > 0 {
		m.shared = nil
	}
	m.later = m.later || l.Skipped == ""
	m.changed = m.changed || l.Ended > 0 || l.Readings > 0 || l.Changed
	return l
}

// share returns a copy of what was learned that never changes.
func (m *memory) share() *belief.Memory {
	if m.shared == nil {
		m.shared = m.learned.Copy()
	}
	return m.shared
}

// remember opens the memory if one of the policies begins with what was learned.
func (d *Decider) remember(policies ...*policy.Policy) error {
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range policies {
		if m.learned == nil && (p.Needs.Memory || d.Forecaster != nil) {
			m.open(belief.NewMemory())
		}
		if needsTeaching(p) && m.learned.Ended()+m.learned.Readings() == 0 {
			return untaught(p, d.Beliefs)
		}
	}
	return nil
}

// untaught returns the error about a policy that begins with what was learned on a training split, of which the file of beliefs
// has nothing; the file is "" if there is none.
func untaught(p *policy.Policy, file string) error {
	from, of := p.Run, ""
	if from == "" {
		from = "SCENARIO"
		if trained := p.Training.Scenario; trained != "" {
			of = ", with " + trained + " or one like it as SCENARIO"
		}
	}
	begins := "policy " + p.Name + " begins with what was learned on a training split (seen=training), and "
	if file == "" {
		return fmt.Errorf("%sthere is no file of that: clustergym beliefs --scenario %s --save beliefs.json writes one%s, and "+
			"--beliefs beliefs.json reads it", begins, from, of)
	}
	return fmt.Errorf("%s%s has nothing of that: clustergym beliefs --scenario %s --save %s writes it%s",
		begins, file, from, file, of)
}

// Remembering returns a policy that begins with what a file of beliefs contains, and what that is. The path is "" for no file. It
// returns an error if the policy begins with what was learned on a training split, and the file has nothing of that.
func Remembering(p *policy.Policy, path string) (*policy.Policy, *belief.Memory, error) {
	var learned *belief.Memory
	if path != "" {
		var err error
		if learned, err = ReadBeliefs(path); err != nil {
			return nil, nil, err
		}
	}
	if needsTeaching(p) && (learned == nil || learned.Ended()+learned.Readings() == 0) {
		return nil, nil, untaught(p, path)
	}
	return new(p.Given(baselines.Given{Memory: learned})), learned, nil
}

// needsTeaching reports whether a policy begins with what was learned on a training split.
func needsTeaching(p *policy.Policy) bool {
	return p.Needs.Memory && (p.Needs.Learned || p.Needs.Speeds)
}

// recall returns what was learned so far, for policies and their schedulers. Nobody changes it. The digest is "" if nothing is
// learned at all.
func (m *memory) recall() (g baselines.Given, digest string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.learned == nil {
		return g, ""
	}
	return baselines.Given{Memory: m.share()}, m.share().Digest()
}

// Record adds an answer to the decision log, if there is one, and learns from the state that was decided, if the decider learns
// and the state is not nil. Decisions that began before do not know of it. The snapshot is the state in the form of
// View.WriteSnapshot. The parameter away is that of belief.Memory.Learn. A decision that cannot be written is counted and logged.
func (d *Decider) Record(s *cluster.View, snapshot []byte, a *Answer, away func(name string) bool) {
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock() // until it is written, so that the log has the order in which the decider learned
	lesson := lesson{Learns: m.learned != nil && s != nil, Beliefs: m.text}
	if lesson.Learns {
		l := m.learn(s, away)
		lesson.Away = l.Away
		d.metrics.learn(&l)
		m.tell(d.Log, &l, s.Now())
	}
	if d.Decisions == nil {
		m.text = nil
		return
	}
	if err := d.Decisions.write(time.Now(), snapshot, a, &lesson); err != nil {
		d.metrics.unlogged.Inc()
		d.Log.Error("decision not logged", "request_id", a.Decision.RequestID, "error", err)
		return
	}
	m.text = nil
}

// ReopenLog makes the decision log, if there is one, go on in the file that has its path now, so that a program such as
// logrotate can move the old file away. The first line of the new file says what was learned until then. ReopenLog logs an
// error, and the old file goes on.
func (d *Decider) ReopenLog() {
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if d.Decisions == nil {
		return
	}
	if err := d.reopenLog(); err != nil {
		d.Log.Error("decision log not reopened", "error", err)
		return
	}
	d.Log.Info("decision log reopened")
}

// reopenLog reopens the decision log and begins with the beliefs that its first line will contain, as a replay does.
func (d *Decider) reopenLog() error {
	m := &d.memory
	if m.learned == nil {
		return d.Decisions.reopen()
	}
	learned := belief.NewMemory()
	if err := learned.Restore(m.learned.Save()); err != nil {
		return err
	}
	if err := d.Decisions.reopen(); err != nil {
		return err
	}
	changed, later := m.changed, m.later
	m.open(learned)
	m.changed, m.later = changed, later // what is not saved yet still is to be
	return nil
}

// The least time between two saves of beliefs, except the last: after a change, and without one, which saves the time of the last
// state.
const (
	keepEvery   = time.Minute
	keepTheTime = 10 * time.Minute
)

// Keep saves what was learned, and which jobs run, into the file of beliefs, if there is one: if either has changed since the
// last save, and if that was a minute ago or last is true; and if there was a later state, and the last save was ten minutes
// ago or last is true. Call it now and then, and with last when the work has ended. It logs and counts an error.
func (d *Decider) Keep(last bool) {
	m := &d.memory
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	ago := time.Since(m.saved)
	if d.Beliefs == "" || !(m.changed && (last || ago >= keepEvery)) && !(m.later && (last || ago >= keepTheTime)) {
		m.mu.Unlock()
		return
	}
	copied := m.learned.Copy()
	m.changed, m.later = false, false
	m.mu.Unlock()
	m.saved = time.Now()
	if err := WriteBeliefs(d.Beliefs, copied); err != nil {
		m.mu.Lock()
		m.changed, m.later = true, true
		m.mu.Unlock()
		d.metrics.kept.WithLabelValues(keepFailed).Inc()
		d.Log.Error("beliefs not saved", "file", d.Beliefs, "error", err)
		return
	}
	d.metrics.kept.WithLabelValues(keepDone).Inc()
}

// Beliefs says how much a decider has learned.
type Beliefs struct {
	Digest   string `json:"digest"`
	Ended    int64  `json:"ended_jobs"`
	Readings int64  `json:"readings"`
}

// beliefs returns nil if nothing is learned.
func (m *memory) beliefs() *Beliefs {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.learned == nil {
		return nil
	}
	return &Beliefs{m.learned.Digest(), m.learned.Ended(), m.learned.Readings()}
}
