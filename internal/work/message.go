package work

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/bits"
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
	Version int     `json:"v" message:"v,need,1..1"`
	Build   string  `json:"build,omitempty" message:"build,build"`    // the program and processor of a worker; see Build
	Worker  string  `json:"worker,omitempty" message:"worker,worker"` // name of the worker that sends it
	Job     string  `json:"job,omitempty" message:"job,hex"`          // digest of the job
	Unit    int     `json:"unit" message:"unit,need,-1..maxUnit"`     // number of a unit; idle for none
	Digest  string  `json:"sha256,omitempty" message:"sha256,hex"`    // of the body
	Seconds float64 `json:"seconds,omitempty" message:"seconds,0..most32"`
	Refused string  `json:"refused,omitempty" message:"refused,reason"` // why the learner refuses the worker or its answer
	Failed  string  `json:"failed,omitempty" message:"failed,reason"`   // why the worker could not compute the unit

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

var fields = strictjson.Names("message", message{})

// heads is the format of the head of a message.
var heads = strictjson.Format{
	Key: "message", Limits: map[string]int64{"maxUnit": maxUnit, "most32": math.MaxInt32},
	Kinds: map[string]strictjson.Kind{
		"build": form(buildText), "worker": form(workerText), "hex": form(hexText),
		"reason": strictjson.Texts(maxReason, func(s string) bool { return s != "" && names.Clean(s) }, "a line of text"),
	},
}

func form(want *regexp.Regexp) strictjson.Kind {
	return strictjson.Texts(200, want.MatchString, "text of the form "+want.String())
}

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
	r := heads.New(data[:end], nil)
	seen := r.Struct(m)
	r.End()
	if err := r.Err(); err != nil {
		return nil, err
	}
	if lacks := strictjson.Bits(fields, k.must...) &^ seen; lacks != 0 {
		return nil, fmt.Errorf("%s: missing, want this field", fields[bits.TrailingZeros32(lacks)])
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
