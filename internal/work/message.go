package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// MaxPayload is the largest number of bytes of a message. An external broker must allow it.
const MaxPayload = 8 << 20

const (
	version   = 1       // of all messages
	maxHead   = 4 << 10 // bytes of a message's head
	maxReason = 2 << 10 // bytes of a reason
	maxUnit   = 1 << 40
)

// message is any message between a learner and its workers. On the wire it is a line of JSON, the head, followed by the body.
type message struct {
	Version int     `json:"v"`
	Build   string  `json:"build,omitempty"`  // the program and processor of a worker; see Build
	Worker  string  `json:"worker,omitempty"` // name of the worker that sends it
	Job     string  `json:"job,omitempty"`    // digest of the job
	Unit    int     `json:"unit"`             // number of a unit; idle for none
	Digest  string  `json:"sha256,omitempty"` // of the body
	Seconds float64 `json:"seconds,omitempty"`
	Refused string  `json:"refused,omitempty"` // why the learner refuses the worker or its answer
	Failed  string  `json:"failed,omitempty"`  // why the worker could not compute the unit

	body []byte
}

// idle is the unit of a worker that has none.
const idle = -1

// The kinds of messages. The subject tells them apart.
type kind struct {
	name string
	may  []string // fields that the head may have in addition to v and unit
	must []string // those of them that it must have
	most int      // largest number of bytes of the body
}

var (
	hello   = kind{"hello", []string{"build", "worker"}, []string{"build", "worker"}, 0}       // a worker asks for the job
	welcome = kind{"welcome", []string{"job", "sha256", "refused"}, nil, MaxPayload}           // the learner answers with the job
	given   = kind{"unit", []string{"job"}, []string{"job"}, 0}                                // the broker gives out a unit
	beat    = kind{"beat", []string{"worker", "job", "seconds"}, []string{"worker", "job"}, 0} // a worker says what it does
	answer  = kind{"answer", []string{"worker", "job", "sha256", "seconds", "failed"}, []string{"worker", "job"}, MaxPayload}
	verdict = kind{"verdict", []string{"refused"}, nil, 0} // the learner says whether it has stored an answer
	table   = kind{"table", nil, nil, MaxPayload}          // the learner answers with a Status
)

var fields = []string{"v", "build", "worker", "job", "unit", "sha256", "seconds", "refused", "failed"}

// encode returns the message as bytes.
func (m *message) encode() []byte {
	m.Version = version
	var out bytes.Buffer
	head := json.NewEncoder(&out) // it ends the line
	head.SetEscapeHTML(false)     // a reason full of < would not fit into a head
	if err := head.Encode(m); err != nil {
		panic("work: head of a message: " + err.Error()) // texts and finite numbers always have a JSON form
	}
	out.Write(m.body)
	return out.Bytes()
}

var (
	hexText    = regexp.MustCompile(`^[0-9a-f]{8,64}$`)
	buildText  = regexp.MustCompile(`^[0-9a-zA-Z./+-]{8,200}$`)
	workerText = regexp.MustCompile(`^[0-9a-zA-Z._-]{1,80}$`)
)

// parse reads a message of a kind. The body shares memory with data.
func parse(data []byte, k kind) (*message, error) {
	m, err := parseMessage(data, k)
	if err != nil {
		return nil, fmt.Errorf("message %s: %w", k.name, err)
	}
	return m, nil
}

func parseMessage(data []byte, k kind) (*message, error) {
	end := bytes.IndexByte(data[:min(len(data), maxHead)], '\n')
	if end < 0 {
		return nil, fmt.Errorf("no end of its head, want one within %d bytes", maxHead)
	}
	m := &message{Unit: idle, body: data[end+1:]}
	if len(m.body) > k.most {
		return nil, fmt.Errorf("body of %d bytes, want at most %d", len(m.body), k.most)
	}
	r := strictjson.New(data[:end])
	need := strictjson.Bits(fields, "v", "unit") | strictjson.Bits(fields, k.must...)
	text := func(want *regexp.Regexp, to *string) {
		s, ok := r.String(200)
		if !ok || !want.MatchString(s) {
			r.Refuse("text of the form " + want.String())
		}
		*to = s
	}
	reason := func(to *string) {
		s, ok := r.String(maxReason)
		if !ok || s == "" || !names.Clean(s) {
			r.Refuse("a line of text")
		}
		*to = s
	}
	seen := r.Object(fields, need, func(field int) {
		switch fields[field] {
		case "v":
			m.Version = int(r.Number(version, version))
		case "build":
			text(buildText, &m.Build)
		case "worker":
			text(workerText, &m.Worker)
		case "job":
			text(hexText, &m.Job)
		case "unit":
			m.Unit = int(r.Number(idle, maxUnit))
		case "sha256":
			text(hexText, &m.Digest)
		case "seconds":
			m.Seconds = r.Float(0, math.MaxInt32)
		case "refused":
			reason(&m.Refused)
		case "failed":
			reason(&m.Failed)
		}
	})
	r.End()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if other := seen &^ (strictjson.Bits(fields, k.may...) | strictjson.Bits(fields, "v", "unit")); other != 0 {
		return nil, errors.New("the head has a field that messages of this kind do not have")
	}
	return m, nil
}

// line returns the text of an error as one line that is short and safe to show.
func line(err error) string {
	text := []rune(names.Escape(err.Error()))
	for i, r := range text {
		if r == '\n' || r == '\t' {
			text[i] = ' '
		}
	}
	for len(string(text)) > maxReason/2 {
		text = text[:len(text)*9/10]
	}
	return string(text)
}
