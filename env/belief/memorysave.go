package belief

import (
	"bytes"
	"crypto/sha256"
	"fmt"

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

var (
	memoryFields = []string{"format", "version", "run_times", "speeds", "last"}
	memoryNeeds  = strictjson.Bits(memoryFields, "format", "version", "run_times", "speeds")
)

// begin sets the digest to that of what was learned so far.
func (m *Memory) begin() { m.digest = sha256.Sum256(m.Save()) }

// Restore replaces what was learned by the text of a Save. For anything that Save does not write, it returns an error with the
// place, the value and what was expected, and changes nothing. It takes time and memory linear in the length of the text.
func (m *Memory) Restore(text []byte) error {
	if len(text) > MaxMemory {
		return fmt.Errorf("restore beliefs: %d bytes, want at most %d", len(text), MaxMemory)
	}
	r := strictjson.New(text)
	var at [5]strictjson.Place
	seen := r.Object(memoryFields, memoryNeeds, func(field int) { at[field] = r.Skip() })
	r.End()
	r.Return("format", at[0])
	r.OneOf(MemoryFormat)
	r.Return("version", at[1])
	r.Number(version, version)
	var before lastState
	if seen&strictjson.Bits(memoryFields, "last") != 0 {
		r.Return("last", at[4])
		before.read(r)
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("restore beliefs: line %d: %w", r.Line(), err)
	}
	part := func(p strictjson.Place) []byte { // after as many empty lines as there are lines before it, for the line in errors
		text, line := r.At(p)
		return append(bytes.Repeat([]byte{'\n'}, line-1), text...)
	}
	fresh, err := restoreParts(part(at[2]), part(at[3]))
	if err != nil {
		return fmt.Errorf("restore beliefs: %w", err)
	}
	fresh.lastState, fresh.restored = before, before.servers != nil
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
