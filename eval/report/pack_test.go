package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
)

// unpacked is a pack as read by the documented format alone.
type unpacked struct {
	head    head
	numbers map[string][]uint32
	texts   map[string][]string
}

func unpack(tb testing.TB, text string) unpacked {
	tb.Helper()
	z := must.Get(gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader([]byte(text)))))(tb)
	b := must.Get(io.ReadAll(z))(tb)
	n := binary.LittleEndian.Uint32(b)
	u := unpacked{head: head{pack: &pack{}}, numbers: map[string][]uint32{}, texts: map[string][]string{}}
	must.Do(tb, json.Unmarshal(b[4:4+n], &u.head))
	b = b[4+n:]
	for _, c := range u.head.Columns {
		if c.Width == 0 {
			var list []string
			if err := json.Unmarshal(b[:c.Count], &list); err != nil {
				tb.Fatalf("%s: %v", c.Name, err)
			}
			u.texts[c.Name], b = list, b[c.Count:]
			continue
		}
		values := make([]uint32, c.Count)
		for i := range values {
			for plane := range c.Width {
				values[i] |= uint32(b[plane*c.Count+i]) << (8 * plane)
			}
		}
		u.numbers[c.Name], b = values, b[c.Width*c.Count:]
	}
	if len(b) > 0 {
		tb.Fatalf("%d bytes left", len(b))
	}
	return u
}

// TestPackHoldsTheSchedules checks that the pack contains what the logs contain: every job, stay, box, loan and failure.
func TestPackHoldsTheSchedules(t *testing.T) {
	for _, c := range []struct {
		name string
		logs []*sim.Log
	}{
		{"generated jobs, preempted", section(t, "generated", 1, 1000, 4, "srtf", "las").Schedules},
		{"loans, elastic jobs, fractional times", builtin(t, "loaning-small-v1", nil, "fifo+loan", "srtf+loan").Schedules},
		{"failures", builtin(t, "embedded-small-v1", failing, "srtf").Schedules},
		{"shares of GPUs", []*sim.Log{shares(t)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := must.Get(packSchedules(c.logs))(t)
			u := unpack(t, text)
			for i, j := range c.logs[0].Jobs {
				if got := u.texts["jobs.name"][i]; got != j.Name {
					t.Fatalf("job %d is %q, want %q", i, got, j.Name)
				}
				if got := u.texts["jobs.user"][u.numbers["jobs.userOf"][i]]; got != j.User {
					t.Fatalf("job %d is of user %q, want %q", i, got, j.User)
				}
				got := []uint32{u.numbers["jobs.submit"][i], u.numbers["jobs.work"][i], u.numbers["jobs.workers"][i], u.numbers["jobs.milli"][i]}
				want := []uint32{u.ticks(j.Submit), u.ticks(j.Work), uint32(j.Workers), uint32(j.Request.GPUMilli)}
				if !slices.Equal(got, want) {
					t.Fatalf("job %d: %v, want %v", i, got, want)
				}
			}
			for k, log := range c.logs {
				sameStays(t, &u, string(rune('0'+k))+".", log)
				sameStates(t, &u, string(rune('0'+k))+".", log)
			}
		})
	}
}

// ticks converts a time to the pack's ticks.
func (u *unpacked) ticks(d time.Duration) uint32 {
	tick := time.Duration(math.Round(u.head.Tick * float64(time.Second)))
	return uint32(d.Round(tick) / tick)
}

func sameStays(t *testing.T, u *unpacked, prefix string, log *sim.Log) {
	t.Helper()
	stay, next := 0, 0
	for id, all := range eval.Stays(log) {
		if got := u.numbers[prefix+"stays"][id]; int(got) != len(all) {
			t.Fatalf("job %d has %d stays, want %d", id, got, len(all))
		}
		at := u.numbers["jobs.submit"][id]
		for _, s := range all {
			from := at + u.numbers[prefix+"gap"][stay]
			at = from + u.numbers[prefix+"length"][stay]
			why := u.head.Ends[u.numbers[prefix+"why"][stay]]
			if from != u.ticks(s.From) || at != u.ticks(s.To) || why != s.End.String() {
				t.Fatalf("job %d stays from %d to %d, %s; want %v to %v, %v", id, from, at, why, s.From, s.To, s.End)
			}
			held := map[[2]uint32]uint32{}
			for range u.numbers[prefix+"boxes"][stay] {
				v, g := u.numbers[prefix+"server"][next], u.numbers[prefix+"gpu"][next]
				for i := range u.numbers[prefix+"count"][next] {
					held[[2]uint32{v, g + i}] += u.numbers[prefix+"milli"][next]
				}
				next++
			}
			gpus := log.GPUs(s.Record)
			for _, p := range log.Placement(s.Record) {
				for range p.Workers {
					where := [2]uint32{uint32(p.Server), uint32(gpus[0])}
					if held[where] != uint32(p.GPUMilli) {
						t.Fatalf("job %d holds %d of GPU %v, want %d", id, held[where], where, p.GPUMilli)
					}
					delete(held, where)
					gpus = gpus[1:]
				}
			}
			if len(held) > 0 {
				t.Fatalf("job %d also holds %v", id, held)
			}
			stay++
		}
	}
}

// sameStates compares the server-time on loan and out of service in the records with that in the pack.
func sameStates(t *testing.T, u *unpacked, prefix string, log *sim.Log) {
	t.Helper()
	var lent, down int64
	for i := range log.Records {
		r := &log.Records[i]
		left := int64(u.ticks(log.Records[len(log.Records)-1].At)) - int64(u.ticks(r.At))
		switch r.Kind {
		case sim.Loan:
			lent += left
		case sim.Reclaim, sim.Seize:
			lent -= left
		case sim.Fail:
			down += left
		case sim.Repair:
			down -= left
		}
	}
	total := func(name string) (sum int64) {
		for i, to := range u.numbers[prefix+name+".to"] {
			sum += int64(to) - int64(u.numbers[prefix+name+".from"][i])
		}
		return sum
	}
	if got := total("loan"); got != lent {
		t.Errorf("%d ticks on loan, want %d", got, lent)
	}
	if got := total("down"); got != down {
		t.Errorf("%d ticks out of service, want %d", got, down)
	}
}

// shares returns a schedule of jobs that hold halves, quarters and whole GPUs; some jobs have two workers.
func shares(tb testing.TB) *sim.Log {
	tb.Helper()
	var jobs []trace.Job
	for i := range 60 {
		j := trace.Job{Work: time.Duration(20+i*7%50) * time.Minute}
		j.Name, j.User, j.Submit = "share-"+string(rune('A'+i)), "someone", time.Duration(i)*time.Minute
		j.Workers = int32(1 + i%2)
		j.Request = cluster.Amount{GPUMilli: []int32{500, 250, 1000}[i%3]}
		jobs = append(jobs, j)
	}
	return play(tb, sim.Episode{Config: sim.Config{Cluster: cluster.Uniform(2, 4)}, Jobs: jobs}, "fifo")
}

// TestTimesBeyond32BitsTakeACoarserTick checks that the tick becomes longer if times do not fit otherwise.
func TestTimesBeyond32BitsTakeACoarserTick(t *testing.T) {
	log := shares(t)
	log.Jobs[0].Work = 100 * 365 * 24 * time.Hour
	text := must.Get(packSchedules([]*sim.Log{log}))(t)
	u := unpack(t, text)
	if got, want := float64(u.numbers["jobs.work"][0])*u.head.Tick, log.Jobs[0].Work.Seconds(); u.head.Tick != 1 || got != want {
		t.Errorf("%v s in ticks of %v s, want %v in ticks of 1", got, u.head.Tick, want)
	}
}

func TestSchedulesOfDifferentJobsAreAnError(t *testing.T) {
	a, b := shares(t), shares(t)
	b.Jobs = slices.Clone(b.Jobs)
	b.Jobs[3].Name = "another"
	if _, err := packSchedules([]*sim.Log{a, b}); err == nil {
		t.Error("no error for other jobs")
	}
	b.Jobs = b.Jobs[1:]
	if _, err := packSchedules([]*sim.Log{a, b}); err == nil {
		t.Error("no error for fewer jobs")
	}
	b.Jobs = slices.Clone(a.Jobs)
	b.Jobs[3].Estimate++
	if _, err := packSchedules([]*sim.Log{a, b}); err != nil {
		t.Errorf("policies that are told other run times: %v, want no error", err)
	}
}

// TestPackKeepsNumbers checks that numbers of every width are read back unchanged.
func TestPackKeepsNumbers(t *testing.T) {
	columns := [][]uint32{nil, {0}, {0, 255}, {1, 256}, {511, 3}, {65535}, {7, 65536}, {math.MaxUint32, 0, 1 << 24}}
	p := packer{head: head{pack: &pack{}}}
	for i, c := range columns {
		p.numbers(string(rune('a'+i)), c)
	}
	text := must.Get(p.encode(&p.head))(t)
	u := unpack(t, text)
	for i, c := range columns {
		if got := u.numbers[string(rune('a'+i))]; !slices.Equal(got, c) {
			t.Errorf("column %d: %v, want %v", i, got, c)
		}
	}
}

// TestPackHoldsTheStatesOfServers checks that a loan ends when its server is returned or seized, an outage ends with the repair,
// and both end at the latest with the log.
func TestPackHoldsTheStatesOfServers(t *testing.T) {
	record := func(at time.Duration, kind sim.Kind, server cluster.ServerID, index int32) sim.Record {
		return sim.Record{At: at * time.Second, Kind: kind, Server: server, Index: index}
	}
	log := &sim.Log{Config: sim.Config{Cluster: cluster.Uniform(3, 2)}, Records: []sim.Record{
		record(1, sim.Loan, 0, 0), record(1, sim.Loan, 1, 0), record(2, sim.Fail, 0, 1), record(2, sim.Fail, 0, -1),
		record(3, sim.Reclaim, 0, 0), record(4, sim.Seize, 1, 0), record(5, sim.Repair, 0, 1), record(6, sim.Loan, 0, 0),
		record(9, sim.End, 0, 0),
	}}
	text := must.Get(packSchedules([]*sim.Log{log}))(t)
	u := unpack(t, text)
	for name, want := range map[string][]uint32{
		"0.loan.server": {0, 1, 0}, "0.loan.from": {1000, 1000, 6000}, "0.loan.to": {3000, 4000, 9000},
		"0.down.server": {0, 0}, "0.down.gpu": {2, 0}, "0.down.from": {2000, 2000}, "0.down.to": {5000, 9000},
	} {
		if got := u.numbers[name]; !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
