package cluster

import (
	"reflect"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// breaks fails or repairs a server or one of its GPUs, including one that has failed already or that works.
func (m *machine) breaks(t *rapid.T) {
	id := rapid.SampledFrom(serverIDs(m.s)).Draw(t, "server")
	gpu := rapid.Int32Range(-1, m.s.Server(id).GPUs-1).Draw(t, "GPU")
	out := func() bool { return gpu < 0 && m.s.Down(id) || gpu >= 0 && m.s.Failed(id, gpu) }
	if rapid.IntRange(0, 2).Draw(t, "repair") == 0 {
		was, whole := portray(m.s), !out()
		if m.s.Repair(id, gpu); out() {
			t.Fatalf("server %d GPU %d: out of order after its repair", id, gpu)
		}
		if whole && !reflect.DeepEqual(withoutFailed(portray(m.s)), withoutFailed(was)) {
			t.Fatalf("the repair of what is in order changed\n%+v, to\n%+v", was, portray(m.s))
		}
		return
	}
	m.interrupted(t, id, gpu, func(stopped []JobID) []JobID { return m.s.Fail(id, gpu, stopped) })
	if !out() {
		t.Fatalf("server %d GPU %d: in order after its failure", id, gpu)
	}
	conserve(t, m.s)
	if m.s.Fail(id, gpu, nil) != nil {
		t.Fatalf("server %d GPU %d: jobs interrupted twice", id, gpu)
	}
}

// withoutFailed removes the list of failed GPUs from servers without failed GPUs, for which the list may be present or not.
func withoutFailed(p picture) picture {
	for i := range p.Servers {
		if v := &p.Servers[i]; !slices.Contains(v.failed, true) {
			v.failed = nil
		}
	}
	return p
}

// lend draws a new offer, and seizes a server if one is owed.
func (m *machine) lend(t *rapid.T) {
	if rapid.Bool().Draw(t, "another offer") {
		offer := rapid.Int32Range(0, int32(m.s.Servers())).Draw(t, "offer")
		by := m.s.Now() + time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "by"))
		m.s.SetOffer(offer, by)
		if _, at := m.s.Owed(); m.s.Offer() != offer || at != by {
			t.Fatalf("%d offered until %v, want %d until %v", m.s.Offer(), at, offer, by)
		}
	}
	for _, v := range serverIDs(m.s) {
		if owed, _ := m.s.Owed(); owed > 0 && m.s.OnLoan(v) && rapid.Bool().Draw(t, "seize") {
			m.interrupted(t, v, -1, func(stopped []JobID) []JobID { return m.s.Seize(v, stopped) })
			if m.s.OnLoan(v) {
				t.Fatalf("server %d is on loan after its seizure", v)
			}
		}
	}
}

// interrupted checks that an interruption affects exactly the jobs that use a server, or one GPU of it: they wait, keep their
// progress and attained service, and nothing changes about the other jobs.
func (m *machine) interrupted(t *rapid.T, id ServerID, gpu int32, do func([]JobID) []JobID) {
	was := portray(m.s)
	want := []JobID{99} // the caller's elements stay in the slice
	var progress, attained []time.Duration
	for i := range m.s.Jobs() {
		job := JobID(i)
		gpus := m.s.GPUs(job)
		for _, p := range m.s.Placement(job) {
			if p.Server == id && (gpu < 0 || slices.Contains(gpus[:p.Workers], gpu)) {
				want = append(want, job)
			}
			gpus = gpus[p.Workers:]
		}
		if m.s.Phase(job) != Unsubmitted {
			progress, attained = append(progress, m.s.Progress(job)), append(attained, m.s.Attained(job))
		} else {
			progress, attained = append(progress, 0), append(attained, 0)
		}
	}
	if got := do([]JobID{99}); !slices.Equal(got, want) {
		t.Fatalf("jobs %v interrupted, want %v", got, want)
	}
	now := portray(m.s)
	for i := range m.s.Jobs() {
		job := JobID(i)
		if slices.Contains(want[1:], job) {
			if m.s.Phase(job) != Pending || m.s.Starts(job) != int(was.Jobs[i].starts) {
				t.Fatalf("interrupted job %d is %v after %d starts", job, m.s.Phase(job), m.s.Starts(job))
			}
		} else if now.Jobs[i].at = was.Jobs[i].at; !reflect.DeepEqual(now.Jobs[i], was.Jobs[i]) {
			t.Fatalf("job %d was not interrupted and became\n%+v, want\n%+v", job, now.Jobs[i], was.Jobs[i])
		}
		if m.s.Phase(job) != Unsubmitted && (m.s.Progress(job) != progress[i] || m.s.Attained(job) != attained[i]) {
			t.Fatalf("job %d has done %v in %v, want %v in %v", job, m.s.Progress(job), m.s.Attained(job), progress[i], attained[i])
		}
	}
}
