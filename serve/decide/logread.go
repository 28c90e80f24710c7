package decide

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrDamaged is wrapped by the error about a line that is not a record. The caller can go on reading after it.
var ErrDamaged = errors.New("damaged")

const maxLine = 768 << 20 // bytes; enough for a snapshot and its answer

// LogReader reads a decision log, line by line.
type LogReader struct {
	in   *bufio.Reader
	line int
}

// NewLogReader returns a reader of a decision log.
func NewLogReader(r io.Reader) *LogReader { return &LogReader{in: bufio.NewReaderSize(r, 1<<16)} }

// Line returns the number of the last line read, from 1.
func (l *LogReader) Line() int { return l.line }

// Next returns the next record and how its answer was made, and io.EOF at the end. It skips empty lines.
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

// read returns a line without its end. The last line may lack its end.
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

// mostAssumed is a hundred years in seconds, the longest time in a snapshot.
const mostAssumed = 100 * 365 * 24 * 3600.0

func parseRecord(text []byte) (*Record, *Decision, error) {
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, nil, err
	}
	if r.Version != logVersion {
		return nil, nil, fmt.Errorf("version: %d, want %d", r.Version, logVersion)
	}
	if r.Assume < 0 || r.Assume > mostAssumed {
		return nil, nil, fmt.Errorf("assume_s: %v, want 0 to %v", r.Assume, mostAssumed)
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
