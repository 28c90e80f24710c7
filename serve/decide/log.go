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

// Record is one line of a decision log: all that a decision depends on, and what it was.
type Record struct {
	Version  int             `json:"version"`
	Time     time.Time       `json:"time"`
	Build    string          `json:"build,omitempty"` // of the program
	Physics  string          `json:"physics"`
	Seed     uint64          `json:"seed"`
	Snapshot json.RawMessage `json:"snapshot"`
	Answer   json.RawMessage `json:"answer"` // an Answer
}

// Log is a decision log that is being written. It is safe for concurrent use.
type Log struct {
	mu     sync.Mutex
	file   *os.File
	frame  Record // what every line says
	broken bool   // the last line may be cut
}

// OpenLog opens a decision log to add lines. Of the frame, Build, Physics and Seed are written with every line. Others than the
// owner may not read it: names of jobs and users are in it.
func OpenLog(path string, frame Record) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open decision log: %w", err)
	}
	l := &Log{file: f, frame: frame}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
		var last [1]byte
		_, err := f.ReadAt(last[:], info.Size()-1)
		l.broken = err != nil || last[0] != '\n'
	}
	return l, nil
}

// Close closes the file.
func (l *Log) Close() error {
	if err := errors.Join(l.file.Sync(), l.file.Close()); err != nil {
		return fmt.Errorf("close decision log: %w", err)
	}
	return nil
}

// write adds a line for an answer to a snapshot: JSON as State.WriteSnapshot writes it.
func (l *Log) write(now time.Time, snapshot []byte, a *Answer) error {
	answer, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write decision log: %w", err)
	}
	r := l.frame
	r.Version, r.Time, r.Snapshot, r.Answer = logVersion, now.UTC(), snapshot, answer
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("write decision log: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	text := line.Bytes()
	if l.broken { // what comes next is not to be lost with the cut line
		text = append([]byte("\n"), text...)
	}
	_, err = l.file.Write(text)
	if l.broken = err != nil; l.broken {
		return fmt.Errorf("write decision log: %w", err)
	}
	return nil
}
