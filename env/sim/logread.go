package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// unsubmitted is the kind of the lines after the last record. They describe jobs that were not submitted before the log ended.
const unsubmitted = End + 1

// ReadLog reads a log that Log.Write has written. If a line violates the format, the error gives the line, the field, its value
// and what was expected. ReadLog checks that ids refer to servers of the header and to its number of jobs, and that time never
// decreases. It does not check that the cluster allowed the recorded operations; Replay does.
func ReadLog(r io.Reader) (*Log, error) {
	p := parser{in: bufio.NewScanner(r), sets: cluster.ServerSets{}}
	p.r, p.describe = logs.New(nil, &p), logs.Fields(p.job)
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
	in       *bufio.Scanner
	r        *strictjson.Reader // over the current line
	number   int                // of the current line, from 1
	log      Log
	job      trace.Job          // of the current line, if it describes one
	describe strictjson.Fields  // of a job
	count    int                // the number of jobs in the header
	jobs     []trace.Job        // in the order of their lines
	ids      []cluster.JobID    // of jobs
	needs    int                // the number of Need records read so far
	ended    bool               // the End record was read
	rest     bool               // a line of kind unsubmitted was read
	sets     cluster.ServerSets // the sets of servers in the where fields, each kept once
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

// settle puts the jobs in the order of their ids and checks that every id occurs once.
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
