package sim_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
)

// script is a scheduler that proposes the operations of its lines at their times, for example
//
//	0s loan 3
//	20s migrate a 0:2 1:4              (two workers on server 0, four on server 1, with what they asked for)
//	30s resize a 0:2:500:6000:128000   (with another GPU share, CPU in thousandths of cores and MiB; 0 keeps the value)
type script struct {
	steps []step
	next  int
}

type step struct {
	at     time.Duration
	verb   string
	server cluster.ServerID
	job    cluster.JobID
	place  cluster.Placement
}

func parseScript(t *testing.T, jobs []trace.Job, text string) *script {
	t.Helper()
	s := new(script)
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		at, err := time.ParseDuration(f[0])
		st := step{at: at, verb: f[1]}
		if server, no := strconv.Atoi(f[2]); no == nil {
			st.server = cluster.ServerID(server)
			s.steps = append(s.steps, st)
			continue
		}
		id := slices.IndexFunc(jobs, func(j trace.Job) bool { return j.Name == f[2] })
		if err != nil || id < 0 {
			t.Fatalf("script line %q: %v", line, err)
		}
		st.job = cluster.JobID(id)
		for _, piece := range f[3:] {
			st.place = append(st.place, parsePiece(t, jobs[id].Request, piece))
		}
		s.steps = append(s.steps, st)
	}
	return s
}

func parsePiece(t *testing.T, want cluster.Amount, text string) cluster.Piece {
	t.Helper()
	p := cluster.Piece{Amount: want}
	for i, word := range strings.Split(text, ":") {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || i > 4 {
			t.Fatalf("piece %q: %v", text, err)
		}
		if i > 1 && n == 0 {
			continue
		}
		switch v := int32(n); i {
		case 0:
			p.Server = cluster.ServerID(v)
		case 1:
			p.Workers = v
		case 2:
			p.GPUMilli = v
		case 3:
			p.CPUMilli = v
		case 4:
			p.MemMiB = v
		}
	}
	return p
}

func (*script) Name() string         { return "script" }
func (s *script) Reset(uint64) error { s.next = 0; return nil }

func (s *script) Schedule(tx *cluster.Txn) error {
	for ; s.next < len(s.steps); s.next++ {
		st := &s.steps[s.next]
		if st.at > tx.Now() {
			tx.WakeAt(st.at)
			return nil
		}
		var err error
		switch st.verb {
		case "start":
			err = tx.Place(st.job, st.place)
		case "preempt":
			err = tx.Preempt(st.job)
		case "migrate":
			err = tx.Migrate(st.job, st.place)
		case "resize":
			err = tx.Resize(st.job, st.place)
		case "loan":
			err = tx.Loan(st.server)
		case "reclaim":
			err = tx.Reclaim(st.server)
		default:
			err = fmt.Errorf("no verb %q", st.verb)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
