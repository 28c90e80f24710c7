package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/bits"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Limits of a log, against hostile or mistaken ones.
const (
	maxLogLine = 16 << 20                   // bytes
	maxLogJobs = 1 << 27                    // jobs
	maxTime    = 100 * 365 * 24 * time.Hour // of a submit time, a duration and a horizon
	lastTime   = cluster.Never - 1          // of any record
)

// unsubmitted is the kind of the lines after the records: jobs that had not come.
const unsubmitted = End + 1

// ReadLog reads what Log.Write wrote. Lines that the format does not allow are errors with the line, the field, its value
// and what was expected. It checks that ids name what the header and the submissions hold and that time does not run back,
// not that the cluster allowed what the records say: Replay does.
func ReadLog(r io.Reader) (*Log, error) {
	p := parser{in: bufio.NewScanner(r), r: strictjson.New(nil), sets: cluster.ServerSets{}}
	p.in.Buffer(make([]byte, 0, 64<<10), maxLogLine)
	err := p.read()
	if errors.Is(err, bufio.ErrTooLong) {
		err = fmt.Errorf("more than %d bytes", maxLogLine)
	}
	if err != nil {
		return nil, fmt.Errorf("read log: line %d: %w", max(p.number, 1), err)
	}
	return &p.log, nil
}

// parser builds a log line by line.
type parser struct {
	in     *bufio.Scanner
	r      *strictjson.Reader // of the line in hand
	number int                // of the line in hand, from 1
	log    Log
	count  int                // jobs that the header announces
	jobs   []trace.Job        // in the order of their lines
	ids    []cluster.JobID    // of jobs
	needs  int                // records of need that were read
	ended  bool               // the end was read
	rest   bool               // a job that had not come was read
	sets   cluster.ServerSets // of servers that will do
}

func (p *parser) read() error {
	if ok, err := p.next(); err != nil || !ok {
		return errors.Join(err, errors.New("no header"))
	}
	if err := p.header(); err != nil {
		return err
	}
	for {
		ok, err := p.next()
		if err != nil {
			return err
		}
		if !ok {
			return p.settle()
		}
		if err := p.line(); err != nil {
			return err
		}
	}
}

func (p *parser) next() (bool, error) {
	p.number++
	if !p.in.Scan() {
		return false, p.in.Err()
	}
	p.r.Reset(p.in.Bytes())
	return true, nil
}

// settle puts the jobs in the order of their ids.
func (p *parser) settle() error {
	if len(p.jobs) != p.count {
		return fmt.Errorf("the log ends after %d jobs, want the %d of its header", len(p.jobs), p.count)
	}
	p.log.Jobs = make([]trace.Job, p.count)
	seen := make([]bool, p.count)
	for i, id := range p.ids {
		if seen[id] {
			return fmt.Errorf("the log submits job %d twice", id)
		}
		seen[id], p.log.Jobs[id] = true, p.jobs[i]
	}
	return nil
}

// text reads text that does nothing to a terminal.
func (p *parser) text() string {
	s, ok := p.r.String(maxLogLine)
	if !ok || !names.Clean(s) {
		p.r.Refuse("printable text in UTF-8")
	}
	return s
}

// duration reads a time from 0 to most, in nanoseconds.
func (p *parser) duration(most time.Duration) time.Duration {
	return time.Duration(p.r.Number(0, int64(most)))
}

// require refuses the object that was read last if one of the needed fields is missing.
func (p *parser) require(fields []string, seen, need uint32) {
	if missing := need &^ seen; missing != 0 {
		p.r.Bad(fields[bits.TrailingZeros32(missing)], "missing", "this field")
	}
}
