package eval

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/folderlock"
)

// The files of a journal, in the folder Plan.Journal.
const (
	journalName   = "journal.jsonl" // one line for each finished case
	timingName    = "timing.jsonl"  // one line for the wall-clock time of each
	schedulesName = "schedules"     // folder of the event logs that results keep
)

// journal stores the finished cases of a plan on disk. Workers append lines as cases finish; settle rewrites them in the plan's
// order.
type journal struct {
	dir            string
	plan           *Plan
	results, times *os.File
	unlock         func() // unlocks the folder
}

// entry is a line of the journal without its checksum.
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

// key returns the digest of everything that determines a case's result.
func (p *Plan) key(t *task) string {
	h := sha256.New()
	by := &p.Policies[t.policy]
	// JSON separates the fields unambiguously.
	_ = json.NewEncoder(h).Encode([]any{p.Build, p.Suites[t.suite].Digest, t.Case, by.Digest, by.Rule})
	for _, o := range p.Objectives {
		_ = json.NewEncoder(h).Encode(o.Text())
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// openJournal locks the folder, reads the plan's finished cases from it into results, and removes all other cases from the files.
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
	if err := atomicfile.Clean(j.dir, filepath.Join(j.dir, schedulesName)); err != nil {
		return err
	}
	kept, damage, err := readJournal(filepath.Join(j.dir, journalName))
	if err != nil {
		return err
	}
	if damage != nil && j.plan.Warn != nil {
		j.plan.Warn(damage)
	}
	times, err := readTimes(filepath.Join(j.dir, timingName))
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
				continue // Run simulates it again
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

// readTimes reads timing.jsonl. It skips invalid lines, because no result depends on them.
func readTimes(path string) ([]timingEntry, error) {
	var all []timingEntry
	err := eachLine(path, func(_ int, line []byte, _ bool) {
		var e timingEntry
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	})
	return all, err
}

// add writes a finished case. When add returns without an error, the case is safe on disk.
func (j *journal) add(t *task, r *Result) error {
	key := j.plan.key(t)
	if r.Timing != nil {
		line, err := json.Marshal(timingEntry{key, t.Case, *r.Timing})
		if err := appendLine(j.times, append(line, '\n'), err); err != nil {
			return err
		}
	}
	line, err := seal(entry{key, r})
	return appendLine(j.results, line, err)
}

// appendLine appends a line to a file and syncs it, unless err, from making the line, is not nil.
func appendLine(f *os.File, line []byte, err error) error {
	if err == nil {
		_, err = f.Write(line)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", f.Name(), err)
	}
	return nil
}

// settle rewrites the files with the finished cases, in the order of the plan.
func (j *journal) settle(tasks []task, results []*Result) error {
	var all, times bytes.Buffer
	for i, r := range results {
		if r == nil {
			continue
		}
		key := j.plan.key(&tasks[i])
		line, err := seal(entry{key, r})
		if err != nil {
			return fmt.Errorf("write journal: %w", err)
		}
		all.Write(line)
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

// sweep removes event logs that this plan does not keep, such as those of other plans.
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

// schedulePath returns the path of the event log of a case.
func (j *journal) schedulePath(c *Case) string {
	name := fmt.Sprintf("%s.%s.%s.%d.jsonl.gz", fileName(c.Scenario), fileName(c.Window), fileName(c.Policy), c.Seed)
	return filepath.Join(j.dir, schedulesName, name)
}

// fileName escapes a name for use in a file name. It replaces each byte other than a letter, digit, - or + by _ and its
// hexadecimal code, so that the dot can separate names.
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

// schedule writes the event log of a result to disk, if the result has one.
func (j *journal) schedule(t *task, r *Result) error {
	if r.Log == nil {
		return nil
	}
	return atomicfile.Write(j.schedulePath(&t.Case), 0o666, func(w io.Writer) error { return writeSchedule(w, r.Log, math.MaxInt) })
}

func (j *journal) readSchedule(t *task) (*sim.Log, error) {
	f, err := os.Open(j.schedulePath(&t.Case))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readSchedule(bufio.NewReader(f), math.MaxInt64)
}
