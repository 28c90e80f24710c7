package belief

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// MemoryFormat is the value of the field format in the text of a Memory.
const MemoryFormat = "clustergym-beliefs"

// MaxMemory is the most bytes of the text of a Memory.
const MaxMemory = maxText + maxSpeeds + maxLast

// Save returns what was learned, as a JSON text: the texts of Learner.Save and of Speeds.Save. It also contains, if there was a
// state, its servers and the jobs that ran, so that those teach that end before a memory that restores the text sees the next
// state. Equal memories have equal texts.
//
//	{"format":"clustergym-beliefs","version":1,
//	"run_times":{"version":1,"learner":"history",...},
//	"speeds":{"version":1,"learner":"speeds",...},
//	"last":{"at_ns":0,"servers":["a"],"running":[{"name":"j","user":"u","workers":1,"age_ns":0,"rate":1}]}}
func (m *Memory) Save() []byte {
	b := fmt.Appendf(nil, "{\"format\":%q,\"version\":%d,\n\"run_times\":", MemoryFormat, version)
	b = append(append(b, bytes.TrimSpace(m.times.Save())...), ",\n\"speeds\":"...)
	b = append(b, bytes.TrimSpace(m.speeds.Copy().Save())...) // saving clears what the belief has computed
	return append(m.lastState.append(b), "}\n"...)
}

// wholeText is the text of a Memory.
type wholeText struct {
	Format   uint8            `belief:"format,need,format"`
	Version  int              `belief:"version,need,1..1"`
	RunTimes strictjson.Place `belief:"run_times,need,later"`
	Speeds   strictjson.Place `belief:"speeds,need,later"`
	Last     *lastText        `belief:"last"`
}

// memories is the format of a Memory's text, and of the text of a Learner.
var memories = strictjson.Format{
	Key:    "belief",
	Limits: map[string]int64{"mostLast": mostLast, "maxEnded": maxEnded},
	Kinds: map[string]strictjson.Kind{
		"format": strictjson.Words[uint8](MemoryFormat),
		"name":   strictjson.Texts(names.Longest, names.OK, "a name"),
		"given": strictjson.Texts(names.Longest, func(s string) bool { return s != "" && names.OK(s) },
			"1 to 256 bytes of printable text"),
		"later": strictjson.Later,
		"kind":  strictjson.As(func(r *strictjson.Reader, to *Kind) { *to = r.Owner.(*parser).kind; r.OneOf(string(*to)) }),
		"level": strictjson.As(func(r *strictjson.Reader, to *level) {
			*to = level(r.OneOf(levelNames[:r.Owner.(*parser).levels]...))
		}),
		"last": strictjson.As(func(r *strictjson.Reader, to *int64) { *to = r.Number(1, max(r.Owner.(*parser).ended, 1)) }),
		"bins": strictjson.As(readBins),
	},
}

// begin sets the digest to that of what was learned so far.
func (m *Memory) begin() { m.digest = sha256.Sum256(m.Save()) }

// Restore replaces what was learned by the text of a Save. For anything that Save does not write, it returns an error with the
// place, the value and what was expected, and changes nothing. It takes time and memory linear in the length of the text.
func (m *Memory) Restore(text []byte) error {
	if len(text) > MaxMemory {
		return fmt.Errorf("restore beliefs: %d bytes, want at most %d", len(text), MaxMemory)
	}
	r := memories.New(text, nil)
	var all wholeText
	r.Struct(&all)
	r.End()
	if err := r.Located(); err != nil {
		return fmt.Errorf("restore beliefs: %w", err)
	}
	part := func(p strictjson.Place) []byte { // after as many empty lines as there are lines before it, for the line in errors
		text, line := r.At(p)
		return append(bytes.Repeat([]byte{'\n'}, line-1), text...)
	}
	fresh, err := restoreParts(part(all.RunTimes), part(all.Speeds))
	if err != nil {
		return fmt.Errorf("restore beliefs: %w", err)
	}
	if all.Last != nil {
		fresh.lastState, fresh.restored = all.Last.state(), true
	}
	fresh.begin()
	*m = *fresh
	return nil
}

// RestoreParts replaces what was learned by the texts of a Learner.Save, of a History, and of a Speeds.Save. After an error,
// nothing has changed.
func (m *Memory) RestoreParts(times, speeds []byte) error {
	fresh, err := restoreParts(times, speeds)
	if err != nil {
		return err
	}
	fresh.begin()
	*m = *fresh
	return nil
}

// restoreParts returns a memory of these texts, whose digest the caller has to set.
func restoreParts(times, speeds []byte) (*Memory, error) {
	fresh := NewMemory()
	if err := fresh.times.Restore(times); err != nil {
		return nil, err
	}
	return fresh, fresh.speeds.Restore(speeds)
}
