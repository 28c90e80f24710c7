package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// phillyLogLayout is that of cluster_job_log, the original file of Microsoft Philly 2017: a JSON list of jobs (or the jobs one
// after the other), each with its attempts, of which each lists the GPUs that it had on each server. Source:
// msr-fiddle/philly-traces (CC BY 4.0).
func phillyLogLayout() layout {
	return layout{format: PhillyLog, required: []string{"jobid", "user", "vc", "status", "submitted_time", "attempts"}, id: "jobid",
		submit: "submitted_time", looks: looksPhillyLog, open: openPhillyLog, parse: parsePhillyLog}
}

func looksPhillyLog(head []byte) bool {
	return looksJSON(head) && bytes.Contains(head, []byte(`"jobid"`)) && bytes.Contains(head, []byte(`"attempts"`))
}

// looksJSON reports whether a file begins with an object, a list of objects or an empty list.
func looksJSON(head []byte) bool {
	text := bytes.TrimLeft(head, " \t\r\n")
	if list, ok := bytes.CutPrefix(text, []byte("[")); ok {
		if text = bytes.TrimLeft(list, " \t\r\n"); bytes.HasPrefix(text, []byte("]")) {
			return true
		}
	}
	object, ok := bytes.CutPrefix(text, []byte("{"))
	return ok && bytes.HasPrefix(bytes.TrimLeft(object, " \t\r\n"), []byte(`"`))
}

// jsonRows are the objects of a JSON list, or objects one after the other.
type jsonRows struct {
	in      *entryLimit
	dec     *jsontext.Decoder
	maxRows int
	number  int // of the current object, from 1
	object  jsontext.Value
	read    *strictjson.Reader
}

// entryLimit bounds the bytes of one object.
type entryLimit struct {
	in         io.Reader
	most, left int
}

func (e *entryLimit) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, ErrLimit
	}
	n, err := e.in.Read(p[:min(len(p), e.left)])
	e.left -= n
	return n, err
}

func openPhillyLog(in *bufio.Reader, opt Options) (source, []string, error) {
	limit := &entryLimit{in: in, most: opt.MaxLine, left: opt.MaxLine}
	j := &jsonRows{in: limit, dec: jsontext.NewDecoder(limit, jsontext.AllowDuplicateNames(true)), maxRows: opt.MaxRows,
		read: strictjson.New(nil)}
	if j.dec.PeekKind() == '[' {
		if _, err := j.dec.ReadToken(); err != nil {
			return nil, nil, err
		}
	}
	return j, phillyLogLayout().required, nil
}

func (j *jsonRows) next() error {
	j.in.left = j.in.most
	if j.dec.PeekKind() == ']' {
		return io.EOF
	}
	j.number++
	var err error
	j.object, err = j.dec.ReadValue()
	switch {
	case err != nil && j.in.left <= 0:
		return fmt.Errorf("%w: more than %d bytes in one object", ErrLimit, j.in.most)
	case errors.Is(err, io.EOF) && j.dec.StackDepth() == 0:
		return io.EOF
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case err == nil && j.number > j.maxRows:
		return fmt.Errorf("%w: more than %d rows", ErrLimit, j.maxRows)
	}
	return err
}

func (j *jsonRows) fields(into []string) ([]string, error) {
	names := phillyLogLayout().required
	values := make([]string, len(names))
	j.read.Reset(j.object)
	j.read.Fields(names, strictjson.Bits(names, "jobid", "status", "submitted_time"), func(i int) {
		if names[i] == "attempts" {
			text, _ := j.read.At(j.read.Skip())
			values[i] = string(text)
			return
		}
		values[i] = orNull(j.read)
	})
	return append(into, values...), j.read.Err()
}

func (j *jsonRows) place() string { return fmt.Sprintf("object %d", max(1, j.number)) }

// orNull reads a string, or null as nothing.
func orNull(r *strictjson.Reader) string {
	if r.Null() {
		return ""
	}
	s, ok := r.String(1 << 10)
	if !ok {
		r.Refuse("text or null")
	}
	return s
}

// parsePhillyLog reads a job. Its run time is that of all its attempts together, and it asks for the GPUs of its last attempt.
// Attempts that did not start count for nothing. Of a job with an attempt that did not end the run time is not known.
func parsePhillyLog(r *Reader, row *row) (Job, verdict, error) {
	var j Job
	j.Name, j.User, j.Tenant = row.id("jobid"), row.text("user"), row.text("vc")
	j.Status = row.phillyStatus("status")
	submit, known := r.instant(row, "submitted_time")
	j.Submit = submit
	j.Request.GPUMilli = cluster.WholeGPU
	tried, err := r.readAttempts(row)
	switch {
	case err != nil || row.err != nil:
		return j, isJob, err
	case tried.started == 0:
		return j, isNeverScheduled, nil
	case tried.gpus == 0:
		return j, isCPUOnly, nil
	case !known:
		return j, hasNoSubmit, nil
	case tried.endless > 0:
		return j, hasNoEnd, nil
	case tried.work == 0:
		return j, ranForNoTime, nil
	case tried.work > maxTime || tried.gpus > maxWorkers:
		row.bad("attempts", row.get("attempts"), fmt.Sprintf("at most %d GPUs for at most a hundred years", maxWorkers))
	}
	if tried.started > 1 {
		r.note("have several attempts: their run times are added up", 1)
	}
	if tried.differ {
		r.note("have attempts with different numbers of GPUs: those of the last count", 1)
	}
	j.Work, j.Workers = tried.work, int32(tried.gpus)
	return j, isJob, nil
}

// attempts sums up the attempts of a job.
type attempts struct {
	started, endless int
	gpus             int // of the last attempt that lists any
	differ           bool
	work             time.Duration
}

func (r *Reader) readAttempts(of *row) (a attempts, err error) {
	const most = 1 << 16
	text := of.get("attempts")
	if isMissing(text) {
		return a, nil
	}
	in := strictjson.New([]byte(text))
	in.List(most, func(int) {
		times, gpus := row{header: []string{"start_time", "end_time"}, fields: make([]string, 2)}, 0
		in.Fields([]string{"start_time", "end_time", "detail"}, 0, func(i int) {
			if i < 2 {
				times.fields[i] = orNull(in)
			} else if !in.Null() {
				in.List(most, func(int) { gpus += countGPUs(in) })
			}
		})
		if in.Err() == nil {
			a.add(r, &times, gpus)
			in.Fail(times.err)
		}
	})
	return a, in.Err()
}

// countGPUs reads what an attempt has on one server.
func countGPUs(in *strictjson.Reader) (n int) {
	in.Fields([]string{"gpus"}, 1, func(int) {
		if !in.Null() {
			n = in.List(1<<12, func(int) { in.Skip() })
		}
	})
	return n
}

// add adds an attempt.
func (a *attempts) add(r *Reader, times *row, gpus int) {
	if gpus > 0 {
		a.differ = a.differ || a.gpus > 0 && a.gpus != gpus
		a.gpus = gpus
	}
	if isMissing(times.get("start_time")) {
		return
	}
	a.started++
	if isMissing(times.get("end_time")) {
		a.endless++
		return
	}
	d, _ := r.span(times, "start_time", "end_time")
	a.work += min(d, maxTime+1-a.work)
}
