package eval

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
)

// Row describes what happened to one job. Times are since the start of the episode.
type Row struct {
	Job      cluster.JobID
	Name     string        // its id in the trace
	Work     time.Duration // isolated run time
	Submit   time.Duration
	Start    time.Duration // the first start; valid if Started
	End      time.Duration // the finish; valid if Finished
	Started  bool
	Finished bool
}

// JCT returns the completion time of a finished job: from submission to finish.
func (r *Row) JCT() time.Duration { return r.End - r.Submit }

func (r *Row) slowdown() float64 {
	return max(1, float64(r.JCT())/float64(max(r.Work, slowdownFloor)))
}

// Rows returns a row for every job of the log, in order of JobID, including jobs that never arrived. It leaves out warm jobs
// (sim.Config.Warm).
func Rows(log *sim.Log) []Row {
	rows := newRows(log)
	for i := range log.Records {
		note(rows, &log.Records[i])
	}
	return rows[log.Config.Warm:]
}

// newRows returns a row for every job, warm jobs included, with nothing but its name, work and submit time.
func newRows(log *sim.Log) []Row {
	rows := make([]Row, len(log.Jobs))
	for i := range rows {
		j := &log.Jobs[i]
		rows[i] = Row{Job: cluster.JobID(i), Name: j.Name, Work: j.Work, Submit: j.Submit}
	}
	return rows
}

// note updates the row of the job that a start or finish record is about.
func note(rows []Row, r *sim.Record) {
	switch r.Kind {
	case sim.Start:
		if row := &rows[r.Job]; !row.Started {
			row.Start, row.Started = r.At, true
		}
	case sim.Finish:
		rows[r.Job].End, rows[r.Job].Finished = r.At, true
	}
}

// WriteJobs writes rows as CSV with the columns job_id, submit_s, start_s, end_s and jct_s.
// Times are exact decimal seconds; the time of an event that did not happen is empty. WriteJobs puts an apostrophe before a job
// id that a spreadsheet would read as a formula.
func WriteJobs(w io.Writer, rows []Row) error {
	buf := bufio.NewWriter(w)
	c := csv.NewWriter(buf)
	fields := []string{"job_id", "submit_s", "start_s", "end_s", "jct_s"}
	if err := c.Write(fields); err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	for _, r := range rows {
		fields = append(fields[:0], noFormula(r.Name), decimal(r.Submit), "", "", "")
		if r.Started {
			fields[2] = decimal(r.Start)
		}
		if r.Finished {
			fields[3], fields[4] = decimal(r.End), decimal(r.JCT())
		}
		if err := c.Write(fields); err != nil {
			return fmt.Errorf("write jobs: %w", err)
		}
	}
	c.Flush()
	if err := c.Error(); err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	if err := buf.Flush(); err != nil {
		return fmt.Errorf("write jobs: %w", err)
	}
	return nil
}

// noFormula returns a name that a spreadsheet does not evaluate as a formula, since names may come from untrusted traces. It
// leaves numbers as they are.
func noFormula(name string) string {
	if name == "" || !strings.Contains("=+-@", name[:1]) {
		return name
	}
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return name
	}
	return "'" + name
}

// decimal formats a duration as exact seconds: 62s is "62", 1.5s is "1.5".
func decimal(d time.Duration) string {
	whole, nanos := d/time.Second, d%time.Second
	s := strconv.FormatInt(int64(whole), 10)
	if nanos == 0 {
		return s
	}
	return s + "." + strings.TrimRight(fmt.Sprintf("%09d", nanos), "0")
}
