package serve

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// LogVersion is the version of the decision log that this package writes and reads.
const LogVersion = 1

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

func (l *Log) write(now time.Time, snapshot []byte, a *Answer) error {
	answer, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("write decision log: %w", err)
	}
	r := l.frame
	r.Version, r.Time, r.Snapshot, r.Answer = LogVersion, now.UTC(), snapshot, answer
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

// ErrDamaged is wrapped by the error about a line that is no record. Those after it can be read.
var ErrDamaged = errors.New("damaged")

const maxLine = 768 << 20 // bytes: a snapshot and its answer

// LogReader reads a decision log, line by line.
type LogReader struct {
	in   *bufio.Reader
	line int
}

// NewLogReader returns a reader of a decision log.
func NewLogReader(r io.Reader) *LogReader { return &LogReader{in: bufio.NewReaderSize(r, 1<<16)} }

// Line is the number of the line that was read last, from 1.
func (l *LogReader) Line() int { return l.line }

// Next returns the next record and how its answer came about, and io.EOF at the end. Empty lines are skipped.
func (l *LogReader) Next() (*Record, *Decision, error) {
	for {
		text, err := l.read()
		if err != nil {
			return nil, nil, err
		}
		if len(text) == 0 {
			continue
		}
		r, d, err := parseRecord(text)
		if err != nil {
			return nil, nil, fmt.Errorf("line %d: %w: %w", l.line, ErrDamaged, err)
		}
		return r, d, nil
	}
}

// read returns a line without its end. One that was cut off is returned as far as it goes.
func (l *LogReader) read() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read decision log: %w", err)
		}
		l.line++
		if long {
			return nil, fmt.Errorf("line %d: %w: more than %d bytes", l.line, ErrDamaged, maxLine)
		}
		return bytes.TrimSpace(line), nil
	}
}

func parseRecord(text []byte) (*Record, *Decision, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, nil, err
	}
	if r.Version != LogVersion {
		return nil, nil, fmt.Errorf("version: %d, want %d", r.Version, LogVersion)
	}
	if len(r.Snapshot) == 0 || len(r.Answer) == 0 {
		return nil, nil, errors.New("no snapshot or no answer, want both")
	}
	var a struct{ Decision Decision }
	if err := json.Unmarshal(r.Answer, &a); err != nil {
		return nil, nil, fmt.Errorf("answer: %w", err)
	}
	switch d := &a.Decision; {
	case d.By == ByPolicy, d.By == ByFallback && d.Fallback != nil:
		return &r, d, nil
	default:
		return nil, nil, fmt.Errorf("answer.decision.by: %q, want %s, or %s and who it was", d.By, ByPolicy, ByFallback)
	}
}
