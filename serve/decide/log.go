package decide

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// logVersion is the version of the decision log that this package writes and reads.
const logVersion = 1

// Record is one line of a decision log: everything that a decision depends on, and the answer.
type Record struct {
	Version int       `json:"version"`
	Time    time.Time `json:"time"`
	Build   string    `json:"build,omitempty"` // version of the program
	Physics string    `json:"physics"`
	Seed    uint64    `json:"seed"`
	Assume  float64   `json:"assume_s,omitempty"` // estimate that jobs got which the snapshot has without one
	// Objective is what policies decided by that ask for one, as a YAML file; "" for completion times.
	Objective string          `json:"objective,omitempty"`
	Snapshot  json.RawMessage `json:"snapshot"`
	Answer    json.RawMessage `json:"answer"` // an Answer
	lesson
}

// lesson is what a decider learned from a snapshot after the decision: see belief.Memory.Learn.
type lesson struct {
	Learns  bool            `json:"learns,omitempty"`  // it looked at the snapshot
	Away    []string        `json:"away,omitempty"`    // jobs that had not ended although the snapshot lacks them
	Beliefs json.RawMessage `json:"beliefs,omitempty"` // in its first line: what it had learned before, as belief.Memory.Save says
}

// Log is an open decision log. It is safe for concurrent use.
type Log struct {
	path   string
	mu     sync.Mutex
	file   *os.File
	frame  Record // the fields that are the same in every line
	broken bool   // the last line may be incomplete
}

// OpenLog opens a decision log for appending. Every line gets Build, Physics, Seed, Assume and Objective of the frame.
// Only the owner can read a new file, because it contains names of jobs and users.
func OpenLog(path string, frame Record) (*Log, error) {
	l := &Log{path: path, frame: frame}
	if err := l.open(); err != nil {
		return nil, err
	}
	return l, nil
}

// open opens the file of that path. If it fails, the file that was open before stays open.
func (l *Log) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open decision log: %w", err)
	}
	l.file, l.broken = f, false
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		var last [1]byte
		_, err := f.ReadAt(last[:], info.Size()-1)
		l.broken = err != nil || last[0] != '\n'
	}
	return nil
}

// reopen closes the file and opens the one that has its path now. If it fails, the old file stays open.
func (l *Log) reopen() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	old := l.file
	if err := old.Sync(); err != nil {
		return fmt.Errorf("close decision log: %w", err)
	}
	if err := l.open(); err != nil {
		return err
	}
	_ = old.Close() // all its lines are on disk
	return nil
}

// Close closes the file.
func (l *Log) Close() error {
	if err := errors.Join(l.file.Sync(), l.file.Close()); err != nil {
		return fmt.Errorf("close decision log: %w", err)
	}
	return nil
}

// write appends a line for an answer to a snapshot. The snapshot is JSON in the form of State.WriteSnapshot.
func (l *Log) write(now time.Time, snapshot []byte, a *Answer, learned *lesson) error {
	answer, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write decision log: %w", err)
	}
	r := l.frame
	r.Version, r.Time, r.Snapshot, r.Answer, r.lesson = logVersion, now.UTC(), snapshot, answer, *learned
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write decision log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text := line.Bytes()
	if l.broken { // so that this record is not lost with the incomplete line
		text = append([]byte("\n"), text...)
	}
	_, err = l.file.Write(text)
	if l.broken = err != nil; l.broken {
		return fmt.Errorf("write decision log: %w", err)
	}
	return nil
}
