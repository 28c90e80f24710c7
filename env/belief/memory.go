package belief

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Memory is what a runtime has learned of run times and speeds from what it saw of a cluster. The policies that it asks for
// decisions begin with copies of that.
//
// Learn teaches it from the states of a cluster in production, one after the other, and Observe from the decisions of an episode.
// What it has learned depends only on the calls of these, of Forget and of Restore, and on their order. A Memory takes at most
// about 60 MB, and some 100 bytes for each server and each running job of the last state.
//
// It is not safe for concurrent use, except that several goroutines may call Times and Speeds while nobody calls another method.
type Memory struct {
	times  *Learner // a History
	speeds *Speeds
	hash   hash.Hash
	digest [sha256.Size]byte

	lastState      // the state that Learn saw last; its maps are never changed, so that copies share them
	restored  bool // the last state is that of another process: it counts only if the next one can follow it
}

// lastState is what a Memory keeps of the last state: which servers it had, and which jobs ran.
type lastState struct {
	at      time.Duration
	servers map[string]bool // nil before the first state
	running map[string]runs // by name
}

// runs is a job that ran in a state.
type runs struct {
	User    string        `belief:"user,need,name"`
	Workers int32         `belief:"workers,need,1.."`
	Age     time.Duration `belief:"age_ns,need"`
	Rate    float64       `belief:"rate,need,0.."`
}

// NewMemory returns a memory that has learned nothing.
func NewMemory() *Memory {
	m := &Memory{times: New(History, Gittins), speeds: NewSpeeds(true), hash: sha256.New()}
	m.begin()
	return m
}

// Times returns a learner that has learned what the memory has: see Learner.Copy.
func (m *Memory) Times(kind Kind, by Rank) *Learner { return m.times.Copy(kind, by) }

// Speeds returns a belief about speeds that has learned what the memory has: see Speeds.Copy.
func (m *Memory) Speeds() *Speeds { return m.speeds.Copy() }

// Copy returns a memory that has learned the same, and has seen the same last state.
func (m *Memory) Copy() *Memory {
	return &Memory{
		times: m.times.Copy(History, Gittins), speeds: m.speeds.Copy(), hash: sha256.New(), digest: m.digest,
		lastState: m.lastState, restored: m.restored,
	}
}

// Ended returns the number of jobs learned from that have ended.
func (m *Memory) Ended() int64 { return m.times.ended }

// Readings returns the number of readings learned from.
func (m *Memory) Readings() int64 { return m.speeds.read }

// Digest identifies what has been learned: it is a digest of the text that was restored, and of all that Learn has learned since.
func (m *Memory) Digest() string { return hex.EncodeToString(m.digest[:8]) }

// Lesson says what Learn has learned.
type Lesson struct {
	// Last is the time of the state before, by which this one is skipped or follows it; 0 if there is none.
	Last     time.Duration
	Skipped  string   // why nothing was learned: SkippedEarlier or SkippedElsewhere; "" if the state was learned from
	Ended    int64    // number of jobs that have ended
	Readings int64    // number of readings
	Changed  bool     // whether other jobs run than in the state before
	Away     []string // the jobs that no longer ran, and had not ended although they were not in the state
}

// Why Learn learns nothing from a state.
const (
	SkippedEarlier   = "earlier"   // the state is not later than the last one
	SkippedElsewhere = "elsewhere" // fewer than half of the servers are those of the last state: this is another cluster
)

// longestGap is the longest time between two states after which a job that has disappeared counts as ended: after a longer time
// nobody knows when it did.
const longestGap = time.Hour

// Learn learns from a later state of the cluster than that of the call before. Jobs are told apart by their names. A job that ran
// then and is not there any more has ended, after its age then and the time since. If it waits now, or if the function away (nil:
// always false) returns true for its name, it has not ended, and teaches nothing until it runs again. From the readings of the
// jobs that run or wait Learn learns those that came since.
//
// Learn skips a state that is not later, or of which fewer than half of the servers are those of the state before: a caller may
// have asked about something else. After more than an hour without a state no job counts as ended.
//
// The state before may be that of another process, which saved it: jobs that have ended since then teach, too. If the state
// cannot follow it, because it is not later or of another cluster, Learn begins with this state.
func (m *Memory) Learn(s *cluster.View, away func(name string) bool) (l Lesson) {
	if m.restored && (s.Now() <= m.at || !m.sameCluster(s)) {
		m.lastState = lastState{}
	}
	m.restored = false
	l.Last = m.at
	switch {
	case m.servers != nil && s.Now() <= m.at:
		l.Skipped = SkippedEarlier
		return l
	case m.servers != nil && !m.sameCluster(s):
		l.Skipped = SkippedElsewhere
		return l
	}
	m.hash.Reset()
	m.hash.Write(m.digest[:])
	since, ended, read := s.Now()-m.at, m.times.ended, m.speeds.read
	running := make(map[string]runs, len(s.Running()))
	for _, id := range s.Running() {
		spec := s.Spec(id)
		running[spec.Name] = runs{spec.Owner(), spec.Workers, s.Age(id), s.PlannedRate(id)}
	}
	waits := make(map[string]bool, len(s.Pending()))
	for _, id := range s.Pending() {
		waits[s.Spec(id).Name] = true
	}
	for _, name := range m.gone(running) {
		j := m.running[name]
		switch {
		case waits[name]:
		case away != nil && away(name):
			l.Away = append(l.Away, name)
		case since <= longestGap:
			ran := j.Age + cluster.Scale(since, j.Rate)
			m.times.Ended(&cluster.JobSpec{User: j.User, Workers: j.Workers}, ran)
			m.hash.Write(fmt.Appendf(nil, "%q %q %d %d\n", name, j.User, j.Workers, ran))
		}
	}
	m.read(s)
	l.Changed = !maps.EqualFunc(m.running, running, func(a, b runs) bool { return a.User == b.User && a.Workers == b.Workers })
	m.at, m.running = s.Now(), running
	m.servers = make(map[string]bool, s.Servers())
	for i := range s.Servers() {
		m.servers[s.Server(cluster.ServerID(i)).Name] = true
	}
	l.Ended, l.Readings = m.times.ended-ended, m.speeds.read-read
	if l.Ended > 0 || l.Readings > 0 {
		m.hash.Sum(m.digest[:0])
	}
	return l
}

// sameCluster reports whether at least half of the servers are those of the last state.
func (m *Memory) sameCluster(s *cluster.View) bool {
	same := 0
	for i := range s.Servers() {
		if m.servers[s.Server(cluster.ServerID(i)).Name] {
			same++
		}
	}
	return 2*same >= max(len(m.servers), s.Servers())
}

// gone returns the names of the jobs that ran in the last state and are not in the given list, in the order of their names.
func (m *Memory) gone(running map[string]runs) (names []string) {
	for name := range m.running {
		if _, ok := running[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// read learns from the readings in a state, and computes what the jobs in it will ask for.
func (m *Memory) read(s *cluster.View) {
	ids := slices.Concat(s.Running(), s.Pending())
	slices.Sort(ids)
	for _, id := range ids {
		before := m.speeds.read
		if m.speeds.Read(s, id); m.speeds.read != before {
			facts := strconv.AppendQuote(nil, s.Spec(id).Name)
			for _, r := range s.Readings(id) {
				facts = fmt.Appendf(facts, " %d %x", r.At, math.Float64bits(r.Speed))
			}
			m.hash.Write(facts)
		}
	}
	for _, id := range ids[:min(len(ids), mostBelieved)] {
		spec := s.Spec(id)
		m.speeds.of(m.speeds.job(spec), spec)
	}
}

// Observe learns from the jobs that have ended and from the readings that came since the last decision of an episode.
func (m *Memory) Observe(tx *cluster.Txn) {
	m.speeds.Observe(tx)
	s := tx.View()
	for _, e := range tx.Events() {
		if e.Kind == cluster.Finished {
			m.times.Ended(s.Spec(e.Job), s.Age(e.Job))
		}
	}
}

// Forget forgets single jobs and keeps what they taught. Call it between episodes, in which other jobs have the same names.
func (m *Memory) Forget() { m.speeds.Forget() }
