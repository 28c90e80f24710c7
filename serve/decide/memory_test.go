package decide_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
	"github.com/clustergym/clustergym/serve/decide/decidetest"
)

// learns is a policy that learns run times by user, and does nothing else with them than to order the queue.
const learns = "sjfskip+know:time=history"

// load finds a policy as production does.
func load(t testing.TB, name string) *policy.Policy {
	t.Helper()
	p := must.Get((&policy.Finder{Memory: true}).Load(name))(t)
	return p
}

// day returns the snapshots of a minute each in which jobs of ann run for half an hour and those of bob for a minute, and after them the
// snapshot in which one of each waits for the same GPU, that of ann first.
func day() (snapshots []string) {
	const head = `{"version":1,"now_s":%d,"servers":[{"name":"a","gpus":1,"cpu_milli":null,"mem_mib":null}],"jobs":[%s]}`
	at := 0
	for i := range 6 {
		user, ran := "ann", 1800
		if i%2 > 0 {
			user, ran = "bob", 60
		}
		job := fmt.Sprintf(`{"id":"%d","user":%q,"submit_s":%d,"workers":1,"state":"running","progress_s":%d,`+
			`"placement":[{"server":"a","workers":1,"gpus":[0]}]}`, i, user, at, ran)
		snapshots = append(snapshots, fmt.Sprintf(head, at+ran, job))
		at += ran + 60
	}
	wait := `{"id":"%s","user":%q,"submit_s":0,"workers":1,"state":"pending"}`
	return append(snapshots, fmt.Sprintf(head, at, fmt.Sprintf(wait+","+wait, "long", "ann", "short", "bob")))
}

// show asks for a decision about each snapshot, records it, and returns the jobs that start.
func (s *site) show(t testing.TB, snapshots ...string) (starts []string) {
	t.Helper()
	for _, text := range snapshots {
		state := must.Get(cluster.ReadSnapshot(strings.NewReader(text)))(t)
		out := must.Get(s.Decide(t.Context(), &state.View, "test", true))(t)
		s.Record(&state.View, []byte(text), out.Answer, nil)
		for _, op := range out.Answer.Ops {
			starts = append(starts, op.Job)
		}
	}
	return starts
}

// TestTheLogSaysThatLearningEnds checks that a snapshot from the far future is told of, and so is that those after it teach nothing,
// once, and that learning goes on; and that snapshots that come a little late are not worth a line.
func TestTheLogSaysThatLearningEnds(t *testing.T) {
	const far, earlier, elsewhere, on = "snapshot far later", "it is earlier than the last one", "fewer than half of its servers", "learning goes on"
	at := func(now int, server string) string {
		return fmt.Sprintf(`{"version":1,"now_s":%d,"servers":[{"name":%q,"gpus":1,"cpu_milli":null,"mem_mib":null}],"jobs":[]}`, now, server)
	}
	const year = 365 * 24 * 3600
	s := newSite(t, load(t, learns), nil)
	for _, step := range []struct {
		name      string
		snapshots []string
		want      map[string]int // lines in the log so far
	}{
		{"usual ones", []string{at(1000, "a"), at(1060, "a"), at(1060, "a"), at(1030, "a"), at(1120, "a")}, map[string]int{}},
		{"the future", []string{at(year, "a")}, map[string]int{far: 1}},
		{"the present", []string{at(1180, "a"), at(1240, "a"), at(1300, "a")}, map[string]int{far: 1, earlier: 1}},
		{"later still", []string{at(year+60, "a"), at(year+120, "a")}, map[string]int{far: 1, earlier: 1, on: 1}},
		{"another cluster", []string{at(year+180, "b"), at(year+240, "b")}, map[string]int{far: 1, earlier: 1, on: 1, elsewhere: 1}},
		{"the first cluster", []string{at(year+300, "a")}, map[string]int{far: 1, earlier: 1, on: 2, elsewhere: 1}},
	} {
		s.show(t, step.snapshots...)
		for _, line := range []string{far, earlier, elsewhere, on} {
			if got := strings.Count(s.log.String(), line); got != step.want[line] {
				t.Errorf("after %s: %d lines of %q, want %d", step.name, got, line, step.want[line])
			}
		}
	}
	contains(t, s.log.String(), `"now_s":1180,"last_s":31536000`)
}

// TestADeciderLearns checks that snapshots change later decisions, that a decider without them decides as always, and that what
// was learned is counted, shown, saved, and there after a restart.
func TestADeciderLearns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beliefs.json")
	days := day()
	last := days[len(days)-1]
	plain := newSite(t, load(t, learns), nil)
	if got := plain.show(t, last); fmt.Sprint(got) != "[long]" {
		t.Errorf("a decider that has learned nothing starts %v, want the first in the queue", got)
	}
	s := newSite(t, load(t, learns), func(c *decide.Config) { c.Beliefs = file })
	s.show(t, days[:6]...)
	if got := s.show(t, last); fmt.Sprint(got) != "[short]" {
		t.Errorf("a decider that has learned starts %v, want the job of bob", got)
	}
	contains(t, s.metrics(t), "clustergym_beliefs_ended_jobs_total 6", `clustergym_beliefs_states_total{result="learned"} 7`,
		`clustergym_beliefs_saves_total{result="ok"} 0`)
	if b := s.Served().Beliefs; b == nil || b.Ended != 6 || b.Digest == "" {
		t.Errorf("served with beliefs %+v", b)
	}
	s.Keep(true)
	s.Keep(true) // nothing new
	contains(t, s.metrics(t), `clustergym_beliefs_saves_total{result="ok"} 1`)
	again := newSite(t, load(t, learns), func(c *decide.Config) { c.Beliefs = file })
	if got := again.show(t, last); fmt.Sprint(got) != "[short]" {
		t.Errorf("after a restart it starts %v, want the job of bob", got)
	}
	if got := s.show(t, days[0], last); fmt.Sprint(got) != "[short]" {
		t.Errorf("after an old snapshot it starts %v", got)
	}
	contains(t, s.metrics(t), `clustergym_beliefs_states_total{result="earlier"} 2`)
	if b := newSite(t, decidetest.Baseline("fifo"), nil).Served().Beliefs; b != nil {
		t.Errorf("a policy that does not learn is served with beliefs %+v", b)
	}
}

// TestTheTimeIsKept checks that a file of beliefs gets the time of a later state in which nothing has changed, when the file is old and
// at the end: after an hour without a state, by that time, no job counts as ended.
func TestTheTimeIsKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beliefs.json")
	config := func(c *decide.Config) { c.Beliefs = file }
	at := func(seconds int) string {
		return strings.Replace(day()[0], `"now_s":1800`, fmt.Sprintf(`"now_s":%d`, seconds), 1)
	}
	says := func() (n int64) {
		t.Helper()
		text := must.Get(os.ReadFile(file))(t)
		_, rest, _ := strings.Cut(string(text), `"at_ns":`)
		_, _ = fmt.Sscan(rest, &n)
		return n / int64(time.Second)
	}
	first := newSite(t, load(t, learns), config)
	first.show(t, at(1800))
	first.Keep(true)
	s := newSite(t, load(t, learns), config)
	for _, c := range []struct {
		at   int
		last bool
		want int64
	}{
		{1860, false, 1860}, // nothing was saved by this process yet
		{1920, false, 1860}, {1980, true, 1980},
	} {
		s.show(t, at(c.at))
		if s.Keep(c.last); says() != c.want {
			t.Errorf("at %d s, last %t: the file is of %d s, want %d", c.at, c.last, says(), c.want)
		}
	}
}

// TestTraining checks that a policy which begins with the training split is refused unless a file says what was learned there.
func TestTraining(t *testing.T) {
	const name = "srsf+know:seen=training:time=history:speed=fit"
	file := filepath.Join(t.TempDir(), "beliefs.json")
	config := decide.Config{Beliefs: file, Source: policy.Source{Load: func() (*policy.Policy, error) { return load(t, name), nil }}}
	if _, err := decide.New(config); err == nil || !strings.Contains(err.Error(), file+" has nothing of that") {
		t.Errorf("without beliefs: %v", err)
	}
	s := newSite(t, load(t, learns), func(c *decide.Config) { c.Beliefs = file })
	s.show(t, day()...)
	s.Keep(true)
	if _, err := decide.New(config); err != nil {
		t.Errorf("with beliefs: %v", err)
	}
}

// TestDamagedBeliefs checks that a file that is no beliefs is refused with the reason and left alone, and so is a file that cannot
// be written.
func TestDamagedBeliefs(t *testing.T) {
	dir := t.TempDir()
	whole := belief.NewMemory().Save()
	for _, c := range []struct{ name, text, err string }{
		{"empty", "", "unexpected EOF"}, {"cut off", string(whole[:len(whole)/2]), "unexpected EOF"},
		{"foreign", `{"version":1,"scheduler":"fifo"}`, "scheduler: unknown field"}, {"no text", "\x00\xff", "restore beliefs: line 1"},
	} {
		file := filepath.Join(dir, c.name)
		must.Do(t, os.WriteFile(file, []byte(c.text), 0o600))
		_, err := decide.New(decide.Config{
			Beliefs: file, Source: policy.Source{Load: func() (*policy.Policy, error) { return load(t, learns), nil }},
		})
		if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
		if text, err := os.ReadFile(file); err != nil || string(text) != c.text {
			t.Errorf("%s: the file has changed, %v", c.name, err)
		}
	}
	config := decide.Config{Beliefs: filepath.Join(dir, "none", "x"), Source: policy.Source{}}
	if _, err := decide.New(config); err == nil || !strings.Contains(err.Error(), "save beliefs") {
		t.Errorf("a folder that does not exist: %v", err)
	}
}

// TestWhatAKilledServerLeftIsRemoved checks that who locks a file of beliefs removes what a killed process left beside it.
func TestWhatAKilledServerLeftIsRemoved(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beliefs.json")
	left := atomicfile.TempName(file)
	must.Do(t, os.WriteFile(left, []byte("half"), 0o600))
	release := must.Get(decide.LockBeliefs(file))(t)
	defer release()
	if _, err := os.Lstat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
}

// TestASaveThatFails checks that a save which does not come to its end leaves the file as it was, that it is counted, and that the
// next one saves what was learned. A writer that is killed leaves a temporary file beside it, which nobody reads.
func TestASaveThatFails(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, "beliefs.json")
	must.Do(t, os.Mkdir(dir, 0o700))
	s := newSite(t, load(t, learns), func(c *decide.Config) { c.Beliefs = file })
	s.show(t, day()...)
	before := must.Get(os.ReadFile(file))(t)
	must.Do(t, os.Rename(dir, dir+"-away"))
	s.Keep(true)
	contains(t, s.metrics(t), `clustergym_beliefs_saves_total{result="failed"} 1`)
	contains(t, s.log.String(), "beliefs not saved")
	must.Do(t, os.Rename(dir+"-away", dir))
	must.Do(t, os.WriteFile(filepath.Join(dir, ".beliefs.json123"), []byte("{"), 0o600))
	if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, before) {
		t.Errorf("the file has changed: %v", err)
	}
	s.Keep(false) // the save before was less than a minute ago
	if now, _ := os.ReadFile(file); !bytes.Equal(now, before) {
		t.Error("it saves more than once a minute")
	}
	s.Keep(true)
	if m, err := decide.ReadBeliefs(file); err != nil || m.Ended() != 6 {
		t.Errorf("%+v, %v", m, err)
	}
}

// recorder shows a decider every state on which a policy decides in an episode, and lets that policy decide.
type recorder struct {
	cluster.Scheduler
	t *testing.T
	*site
}

func (r *recorder) Schedule(tx *cluster.Txn) error {
	r.show(r.t, text(r.t, tx.View()))
	return r.Scheduler.Schedule(tx)
}

func text(t testing.TB, s *cluster.View) string {
	t.Helper()
	var b bytes.Buffer
	must.Do(t, s.WriteSnapshot(&b))
	return strings.TrimSpace(b.String())
}

// TestLearnedDecisionsAreDecidedAgain plays an episode with readings before deciders that log, with a restart in the middle, and
// checks that replaying the log gives the same decisions. If a line is missing, the replay says that later ones cannot be compared.
func TestLearnedDecisionsAreDecidedAgain(t *testing.T) {
	const name = "srsf+menu+move+know:speed=fit:time=history"
	path, file := logPath(t), filepath.Join(t.TempDir(), "beliefs.json")
	log := must.Get(decide.OpenLog(path, decide.Record{Physics: "ideal", Seed: 1}))(t)
	var jobs []trace.Job
	for i := range 30 {
		var j trace.Job
		j.Name, j.User, j.Workers = fmt.Sprint("job ", i), []string{"ann", "bob"}[i%2], int32(1+i%3)
		j.MinWorkers, j.MaxWorkers = 1, 4
		j.Request = cluster.Amount{GPUMilli: cluster.WholeGPU, CPUMilli: int32(1000 * (1 + i%4)), MemMiB: 1000}
		j.Submit, j.Work = time.Duration(i)*3*time.Minute, time.Duration(5+10*(i%2))*time.Minute
		jobs = append(jobs, j)
	}
	spec := cluster.Uniform(2, 4)
	for i := range spec.Servers {
		spec.Servers[i].CPUMilli, spec.Servers[i].MemMiB = 32000, 64000
	}
	e, err := sim.New(sim.Config{
		Cluster: spec, Readings: sim.Readings{Interval: time.Minute, Noise: 0.05, Seed: 1}, Hidden: sim.Hidden{Speeds: true},
	}, jobs)
	must.Do(t, err)
	plays := must.Get(baselines.New("srsf+menu+move+know:speed=fit"))(t)
	config := func(c *decide.Config) { c.Decisions, c.Beliefs = log, file }
	first := &recorder{plays, t, newSite(t, load(t, name), config)}
	must.Do(t, e.Run(t.Context(), first, 1))
	b := first.Served().Beliefs
	if b.Ended < 20 || b.Readings < 20 {
		t.Errorf("learned from %+v, want most of the jobs and their readings", b)
	}
	first.Keep(true)
	second := newSite(t, load(t, name), config)
	second.show(t, day()...)
	must.Do(t, log.Close())
	all := must.Get(os.ReadFile(path))(t)
	lines := strings.SplitAfter(strings.TrimSpace(string(all)), "\n")
	for i, said := range replay(t, string(all), load(t, name)) {
		if said != "" {
			t.Fatalf("line %d of %d: %s", i+1, len(lines), said)
		}
	}
	afresh := replay(t, string(all), &policy.Policy{Name: name, New: load(t, name).New})
	if strings.Join(afresh, "") == "" {
		t.Error("a policy that begins afresh decides the same")
	}
	missing := replay(t, strings.Join(append(lines[:20:20], lines[50:]...), ""), load(t, name))
	if at := len(missing) - 1; missing[19] != "" || !strings.Contains(strings.Join(missing[20:], "\n"), "decided with other beliefs") || missing[at] != "" {
		t.Errorf("without lines 21 to 50 of %d: %q", len(lines), missing)
	}
	if said := replay(t, strings.Join(lines[1:3], ""), load(t, name)); !strings.Contains(said[0], "no line before says what was learned") {
		t.Errorf("without the first line: %q", said)
	}
}

// TestLearningInParallel lets many requests decide, teach, save and reload at a time, and late schedulers go on with what they
// have. The race detector checks that they share nothing that changes.
func TestLearningInParallel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "beliefs.json")
	s := newSite(t, load(t, "srsf+menu+know:speed=fit:time=history"), func(c *decide.Config) {
		c.Beliefs, c.Deadline, c.Parallel = file, time.Millisecond, 1000
		c.Source.Stamp = func() (string, error) { return fmt.Sprint(time.Now().UnixNano()), nil }
	})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for _, text := range day() {
				state, err := cluster.ReadSnapshot(strings.NewReader(text))
				if err != nil {
					t.Error(err)
					return
				}
				if out, err := s.Decide(t.Context(), &state.View, "", true); err == nil {
					s.Record(&state.View, []byte(text), out.Answer, nil)
				}
				s.Keep(true)
				s.Reload(true)
			}
		})
	}
	all.Wait()
	if m, err := decide.ReadBeliefs(file); err != nil || m.Ended() == 0 {
		t.Errorf("%+v, %v", m, err)
	}
}
