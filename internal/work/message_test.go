package work

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/quick"

	"github.com/clustergym/clustergym/internal/formattest"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/internal/names"
)

var kinds = []kind{hello, welcome, given, beat, answer, verdict}

// samples contains a message of each kind, in the order of kinds.
func samples() []*message {
	const job = "0123456789abcdef"
	return []*message{
		{Unit: idle, Build: testBuild, Worker: "host-1.2_3"},
		{Unit: idle, Job: job, Digest: job, body: []byte("the job\nof two lines")},
		{Unit: 7, Job: job},
		{Unit: idle, Job: job, Worker: "w", Seconds: 1.5},
		{Unit: 0, Job: job, Worker: "w", Digest: job, Seconds: 0.25, body: []byte{0, '\n', 255}},
		{Unit: 3, Refused: "NaN"},
	}
}

// TestMessagesSurviveTheWire checks that what is parsed is what was sent.
func TestMessagesSurviveTheWire(t *testing.T) {
	for i, m := range samples() {
		got, err := parse(m.encode(), kinds[i])
		if err != nil {
			t.Errorf("%s: %v", kinds[i].name, err)
			continue
		}
		if len(got.body) == 0 {
			got.body = nil
		}
		if !reflect.DeepEqual(got, m) {
			t.Errorf("%s: got %+v, want %+v", kinds[i].name, got, m)
		}
	}
}

// TestBadMessagesAreRefused checks that the error names the field.
func TestBadMessagesAreRefused(t *testing.T) {
	for _, c := range []struct {
		kind       kind
		text, want string
	}{
		{given, ``, "no end of its head"},
		{given, strings.Repeat(" ", maxHead) + "\n", "no end of its head"},
		{given, "[]\n", "an object"},
		{given, `{"v":2,"unit":1,"job":"0123456789"}` + "\n", "v: 2, want a whole number from 1 to 1"},
		{given, `{"v":1,"job":"0123456789"}` + "\n", "unit: missing"},
		{given, `{"v":1,"unit":1}` + "\n", "job: missing"},
		{given, `{"v":1,"unit":1,"job":"../../etc"}` + "\n", "job"},
		{given, `{"v":1,"unit":-2,"job":"0123456789"}` + "\n", "unit: -2"},
		{given, `{"v":1,"unit":1,"job":"0123456789"}` + "\nbody", "body of 4 bytes, want at most 0"},
		{given, `{"v":1,"unit":1,"job":"0123456789","worker":"w"}` + "\n", "a field that messages of this kind do not have"},
		{given, `{"v":1,"unit":1,"job":"0123456789","job":"0123456789"}` + "\n", "given twice"},
		{given, `{"v":1,"unit":1,"job":"0123456789","more":1}` + "\n", "more: unknown field"},
		{beat, `{"v":1,"unit":1,"job":"0123456789","worker":"a b"}` + "\n", "worker"},
		{beat, `{"v":1,"unit":1,"job":"0123456789","worker":"a","seconds":1e300}` + "\n", "seconds"},
		{verdict, `{"v":1,"unit":1,"refused":"\u001b[2J"}` + "\n", "refused"},
	} {
		if _, err := parse([]byte(c.text), c.kind); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %.80q: error %v, want %q", c.kind.name, c.text, err, c.want)
		}
	}
}

// TestLinesOfErrors checks that the text of any error fits into a message.
func TestLinesOfErrors(t *testing.T) {
	check := func(text string) bool {
		m := &message{Unit: idle, Refused: "x" + line(errors.New(text))}
		got, err := parse(m.encode(), verdict)
		return err == nil && got.Refused == m.Refused && names.Clean(got.Refused)
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	for _, part := range []string{"\x00é\n", "<", "\"", "\\", "\u2028"} {
		if !check(strings.Repeat(part, 4000)) {
			t.Errorf("a long text of %q does not fit", part)
		}
	}
}

// FuzzMessage fuzzes the messages of all kinds, of which the first byte of a text selects one.
func FuzzMessage(f *testing.F) {
	var seeds []string
	for k := range kinds {
		for _, m := range samples() {
			seeds = append(seeds, string(rune(k))+string(m.encode()))
		}
	}
	type read struct {
		*message
		kind byte
	}
	formattest.Fuzz(f, formattest.Format[read]{
		Read: func(text []byte) (read, error) {
			if len(text) == 0 || int(text[0]) >= len(kinds) {
				return read{}, errors.New("no kind")
			}
			m, err := parse(text[1:], kinds[text[0]])
			return read{m, text[0]}, err
		},
		Write: func(m read) ([]byte, error) { return append([]byte{m.kind}, m.encode()...), nil },
		Bytes: true,
	}, seeds...)
}

// TestAStatusSurvivesTheWire checks that what is parsed is what was sent, also without workers.
func TestAStatusSurvivesTheWire(t *testing.T) {
	some := Status{
		Job: "0123456789abcdef", Done: 3, Waiting: 1, Busy: 1, Rate: 0.5, Left: 4, Queue: DefaultQueue, Median: 2, Seconds: 9,
		Workers: []WorkerStatus{{Name: "a", State: Computes, Unit: 7, For: 1.5, Done: 3, Mean: 2, Heard: 0.1, Refused: 1}},
	}
	for _, want := range []Status{some, {Workers: []WorkerStatus{}}} {
		text := must.Get(json.Marshal(want))(t)
		if got, err := parseStatus(text); err != nil || !reflect.DeepEqual(*got, want) {
			t.Errorf("got %+v, error %v, want %+v", got, err, want)
		}
	}
}

func FuzzStatus(f *testing.F) {
	formattest.Fuzz(f, formattest.Format[*Status]{
		Read: parseStatus, Write: func(s *Status) ([]byte, error) { return json.Marshal(s) },
	}, `{"job":"","done":0,"waiting":0,"busy":0,"rate":0,"left_s":0,"workers":[{"name":"a","state":"waits","unit":-1,`+
		`"for_s":1,"done":0,"mean_s":0,"heard_s":0.5,"refused":0}],"queue":"q","median_s":0,"answered_for_s":0}`)
}
