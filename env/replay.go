package env

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the maximum length of a line of a record in bytes. A round with an action and a reward for each of a million agents
// is shorter.
const maxLine = 64 << 20

// Replay plays a record written by NewRecorder again in e, with the same seeds and joint actions. e must be in the state in which
// the recording began. Replay returns an error with the line's number at the first line that e does not reproduce byte for byte,
// and at a line that is not part of a record.
func Replay(record io.Reader, e Env) error {
	var (
		again bytes.Buffer
		ts    TimeStep
	)
	r := &recorder{e, &again}
	lines := bufio.NewScanner(record)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		again.Reset()
		if err := r.replay(lines.Bytes(), &ts); err != nil {
			return fmt.Errorf("replay: line %d: %w", n, err)
		}
		if got := bytes.TrimSuffix(again.Bytes(), []byte("\n")); !bytes.Equal(got, lines.Bytes()) {
			return fmt.Errorf("replay: line %d: the environment gives %.300q, the record says %.300q", n, got, lines.Bytes())
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("replay: line %d: %w", n+1, err)
	}
	return nil
}

// replay plays one line.
func (r *recorder) replay(line []byte, ts *TimeStep) error {
	var x entry
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&x); err != nil {
		return err
	}
	switch {
	case (x.Seed == nil) == (x.Joint == nil):
		return errors.New("neither a seed nor a joint action, or both: want one of them")
	case x.Seed != nil:
		return r.Reset(*x.Seed, ts)
	}
	return r.Step(x.Joint, ts)
}
