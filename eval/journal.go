package eval

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
)

// The files of a journal, in the folder of Plan.Journal.
const (
	journalName   = "journal.jsonl" // a finished case a line
	timingName    = "timing.jsonl"  // how long it took
	schedulesName = "schedules"     // event logs that results keep
)

// journal keeps the finished cases of a plan on disk. Lines are appended as cases finish; settle puts them in order.
type journal struct {
	dir            string
	plan           *Plan
	results, times *os.File
	unlock         func() // gives the folder back
}

// entry is a line of the journal.
type entry struct {
	Key    string  `json:"key"`
	Result *Result `json:"result"`
}

// timingEntry is a line of timing.jsonl.
type timingEntry struct {
	Key string `json:"key"`
	Case
	Timing
}

// key is the digest of all that fixes a case's result.
func (p *Plan) key(t *task) string {
	h := sha256.New()
	// JSON parts the fields beyond doubt.
	_ = json.NewEncoder(h).Encode([]any{p.Build, p.Suites[t.suite].Digest, t.Case, p.Policies[t.policy].Digest})
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// openJournal locks the folder, reads what it has of the plan into results and drops the rest.
func openJournal(p *Plan, tasks []task, results []*Result) (*journal, error) {
	j := &journal{dir: p.Journal, plan: p}
	err := os.MkdirAll(j.dir, 0o777)
	if err != nil {
		return nil, err
	}
	if j.unlock, err = folderlock.Acquire(j.dir); err != nil {
		return nil, err
	}
	if err := j.open(tasks, results); err != nil {
		j.unlock()
		return nil, err
	}
	return j, nil
}

func (j *journal) open(tasks []task, results []*Result) error {
	if err := os.MkdirAll(filepath.Join(j.dir, schedulesName), 0o777); err != nil {
		return err
	}
	kept, err := readLines[entry](filepath.Join(j.dir, journalName))
	if err != nil {
		return err
	}
	times, err := readLines[timingEntry](filepath.Join(j.dir, timingName))
	if err != nil {
		return err
	}
	byKey := map[string]*Result{}
	for i := range kept {
		byKey[kept[i].Key] = kept[i].Result
	}
	timing := map[string]*Timing{}
	for i := range times {
		timing[times[i].Key] = &times[i].Timing
	}
	for i := range tasks {
		t := &tasks[i]
		r := byKey[j.plan.key(t)]
		if r == nil || r.Case != t.Case {
			continue
		}
		r.Timing = timing[j.plan.key(t)]
		if j.plan.keeps(t) {
			if r.Log, err = j.readSchedule(t); err != nil {
				continue // it is played again
			}
		}
		results[i] = r
	}
	if err := j.settle(tasks, results); err != nil {
		return err
	}
	if j.results, err = appendTo(filepath.Join(j.dir, journalName)); err != nil {
		return err
	}
	j.times, err = appendTo(filepath.Join(j.dir, timingName))
	return err
}

func appendTo(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
}

// maxLine bounds a line of a journal.
const maxLine = 1 << 20

// readLines reads JSON lines. A last line that a kill has torn, and what is no such line at all, are left out: those cases are
// played again.
func readLines[T any](path string) ([]T, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []T
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var v T
		if json.Unmarshal(lines.Bytes(), &v) == nil {
			all = append(all, v)
		}
	}
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}

// add writes a finished case down. It is safe on disk when add returns.
func (j *journal) add(t *task, r *Result) error {
	key := j.plan.key(t)
	if r.Timing != nil {
		if err := appendLine(j.times, timingEntry{key, t.Case, *r.Timing}); err != nil {
			return err
		}
	}
	return appendLine(j.results, entry{key, r})
}

func appendLine(f *os.File, v any) error {
	line, err := json.Marshal(v)
	if err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}

// settle rewrites the files with the cases that are done, in the order of the plan.
func (j *journal) settle(tasks []task, results []*Result) error {
	var all, times bytes.Buffer
	for i, r := range results {
		if r == nil {
			continue
		}
		key := j.plan.key(&tasks[i])
		if err := json.NewEncoder(&all).Encode(entry{key, r}); err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
		if r.Timing != nil {
			if err := json.NewEncoder(&times).Encode(timingEntry{key, r.Case, *r.Timing}); err != nil {
				return fmt.Errorf("write timing: %w", err)
			}
		}
	}
	if err := atomicfile.WriteBytes(filepath.Join(j.dir, journalName), 0o666, all.Bytes()); err != nil {
		return err
	}
	return atomicfile.WriteBytes(filepath.Join(j.dir, timingName), 0o666, times.Bytes())
}

// sweep removes event logs that the plan does not keep: those of other plans.
func (j *journal) sweep(results []*Result) error {
	keep := map[string]bool{}
	for _, r := range results {
		if r != nil && r.Log != nil {
			keep[j.schedulePath(&r.Case)] = true
		}
	}
	found, err := filepath.Glob(filepath.Join(j.dir, schedulesName, "*.jsonl.gz"))
	if err != nil {
		return err
	}
	for _, path := range found {
		if !keep[path] {
			if err := os.Remove(path); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *journal) close() {
	_ = errors.Join(j.results.Close(), j.times.Close()) // every line was synced
	j.unlock()
}

// schedulePath is where the event log of a case is kept.
func (j *journal) schedulePath(c *Case) string {
	name := fmt.Sprintf("%s.%s.%s.%d.jsonl.gz", fileName(c.Scenario), fileName(c.Window), fileName(c.Policy), c.Seed)
	return filepath.Join(j.dir, schedulesName, name)
}

// fileName writes what files may not be called, or what parts their names, as _ and its hexadecimal code.
func fileName(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c == '-' || c == '+' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

// schedule keeps the event log of a result that has one.
func (j *journal) schedule(t *task, r *Result) error {
	if r.Log == nil {
		return nil
	}
	return atomicfile.Write(j.schedulePath(&t.Case), 0o666, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := r.Log.Write(z); err != nil {
			return err
		}
		return z.Close()
	})
}

func (j *journal) readSchedule(t *task) (*sim.Log, error) {
	f, err := os.Open(j.schedulePath(&t.Case))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return nil, err
	}
	log, err := sim.ReadLog(z)
	if err != nil {
		return nil, err
	}
	return sim.Replay(log) // a file that somebody has changed is no schedule
}
