package belief

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
)

// Save returns what the learner has learned, as a JSON text: see learnerText. A learner that restores it predicts the same, to
// the last bit, and goes on learning in the same way. The text does not contain the learner's Rank. Equal learners have equal
// texts.
func (l *Learner) Save() []byte { return text(l.text()) }

func (l *Learner) text() *learnerText {
	t := &learnerText{Version: version, Learner: l.kind, Ended: l.ended}
	for _, k := range slices.SortedFunc(maps.Keys(l.sets), compareKeys) {
		t.Sets = append(t.Sets, setText{k, *l.sets[k]})
	}
	return t
}

// Restore replaces what the learner has learned by the text of a Save of the same Kind; the Rank stays. For anything that Save
// does not write, it returns an error with the place, the value and what was expected, and changes nothing. It takes time and
// memory linear in the length of the text.
func (l *Learner) Restore(text []byte) error {
	t := newText(l.kind)
	if err := t.parse(text, maxText, &t.RunTimes); err != nil {
		return fmt.Errorf("restore run times: %w", err)
	}
	l.restore(&t.RunTimes)
	return nil
}

func (l *Learner) restore(t *learnerText) {
	l.ended, l.sets, l.last = t.Ended, make(map[key]*set, len(t.Sets)), nil
	for i := range t.Sets {
		s := &t.Sets[i].set
		s.total()
		l.sets[t.Sets[i].key] = s
	}
	clear(l.views)
}

// Save returns what was learned, as a JSON text: see speedsText. From then on, a belief that restores the text and the saved one
// answer alike, to the last bit, and go on learning in the same way. Equal beliefs have equal texts.
func (l *Speeds) Save() []byte {
	l.settle() // a restored belief does not know how far this one lagged behind
	return text(l.text())
}

func (l *Speeds) text() *speedsText {
	t := &speedsText{Version: speedsVersion, Read: l.read, Width: l.width, Types: l.types}
	for _, c := range slices.SortedFunc(maps.Keys(l.circles), compareCircles) {
		t.Circles = append(t.Circles, circleText{c, *l.circles[c]})
	}
	for _, c := range slices.SortedFunc(maps.Keys(l.units), compareCircles) {
		t.Units = append(t.Units, unitsText{c, *l.units[c]})
	}
	for _, name := range slices.Sorted(maps.Keys(l.jobs)) {
		if j := l.jobs[name]; j.Last > 0 {
			t.Jobs = append(t.Jobs, jobText{name, j.identity, j.readings})
		}
	}
	return t
}

// Restore replaces what was learned by the text of a Save, or of a Save of an earlier version. What such a text says is kept, and
// nothing is known of the effect of several racks: readings there count as readings in one. For anything that no Save has
// written, Restore returns an error with the place, the value and what was expected, and changes nothing. It takes time and
// memory linear in the length of the text.
func (l *Speeds) Restore(text []byte) error {
	t := newText("")
	if err := t.parse(text, maxSpeeds, &t.Speeds); err != nil {
		return fmt.Errorf("restore speeds: %w", err)
	}
	l.restore(&t.Speeds)
	return nil
}

func (l *Speeds) restore(t *speedsText) {
	l.read, l.width, l.types = t.Read, t.Width, t.Types
	l.circles, l.units, l.jobs = map[circle]*evidence{}, map[circle]*units{}, map[string]*measured{}
	for i := range t.Circles {
		l.circles[t.Circles[i].circle] = &t.Circles[i].evidence
	}
	for i := range t.Units {
		l.units[t.Units[i].circle] = &t.Units[i].units
	}
	for i := range t.Jobs {
		j := &t.Jobs[i]
		m := newMeasured(&cluster.JobSpec{Name: j.Name, Model: j.Model, User: j.User, Group: j.Group})
		m.readings = j.readings
		l.jobs[j.Name] = m
	}
	l.made++
	l.settle()
}

// Save returns what was learned, as a JSON text: see memoryText. It also contains, if there was a state, its servers and the jobs
// that ran, so that those teach that end before a memory that restores the text sees the next state. Equal memories have equal
// texts.
func (m *Memory) Save() []byte {
	speeds := m.speeds.Copy() // saving clears what the belief has computed
	speeds.settle()
	return text(&memoryText{Version: version, RunTimes: *m.times.text(), Speeds: *speeds.text(), Last: m.lastState.text()})
}

// text returns nil if there is no state, or if its text would be too long or has names that cannot be saved.
func (l *lastState) text() *lastText {
	if l.servers == nil || max(len(l.servers), len(l.running)) > mostLast {
		return nil
	}
	t := &lastText{At: l.at, Servers: slices.Sorted(maps.Keys(l.servers))}
	ok := !slices.ContainsFunc(t.Servers, func(name string) bool { return !names.OK(name) })
	for _, name := range slices.Sorted(maps.Keys(l.running)) {
		j := l.running[name]
		ok = ok && names.OK(name) && names.OK(j.User) && j.Workers >= 1 && j.Age >= 0 && j.Rate >= 0 && !math.IsInf(j.Rate, 0)
		t.Running = append(t.Running, runText{name, j})
	}
	if !ok || len(text(t)) > maxLast {
		return nil
	}
	return t
}

// Restore replaces what was learned by the text of a Save. For anything that Save does not write, it returns an error with the
// place, the value and what was expected, and changes nothing. It takes time and memory linear in the length of the text.
func (m *Memory) Restore(text []byte) error {
	t := newText(History)
	if err := t.parse(text, MaxMemory, t); err != nil {
		return fmt.Errorf("restore beliefs: %w", err)
	}
	fresh := NewMemory()
	fresh.times.restore(&t.RunTimes)
	fresh.speeds.restore(&t.Speeds)
	if last := t.Last; last != nil {
		fresh.lastState, fresh.restored = lastState{last.At, map[string]bool{}, map[string]runs{}}, true
		for _, name := range last.Servers {
			fresh.servers[name] = true
		}
		for i := range last.Running {
			fresh.running[last.Running[i].Name] = last.Running[i].runs
		}
	}
	fresh.begin()
	*m = *fresh
	return nil
}

// RestoreParts replaces what was learned by the texts of a Learner.Save, of a History, and of a Speeds.Save. After an error,
// nothing has changed.
func (m *Memory) RestoreParts(times, speeds []byte) error {
	fresh := NewMemory()
	if err := fresh.times.Restore(times); err != nil {
		return err
	}
	if err := fresh.speeds.Restore(speeds); err != nil {
		return err
	}
	fresh.begin()
	*m = *fresh
	return nil
}

// begin sets the digest to that of what was learned so far.
func (m *Memory) begin() { m.digest = sha256.Sum256(m.Save()) }

// text returns the text of one of the structs of the format.
func text(v any) []byte { return append(memories.Append(nil, v), '\n') }

// newText returns an empty text that is read with the run times of a learner of a kind.
func newText(kind Kind) *memoryText {
	return &memoryText{RunTimes: learnerText{Learner: kind, lasts: map[last]bool{}}}
}

// parse reads a text of at most most bytes into part, which is the memory's text or a part of it.
func (t *memoryText) parse(text []byte, most int, part any) error {
	if len(text) > most {
		return fmt.Errorf("%d bytes, want at most %d", len(text), most)
	}
	return memories.Parse(text, t, part)
}
