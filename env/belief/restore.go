package belief

import (
	"fmt"
	"math"
	"strconv"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Limits of a text that Restore reads.
const (
	maxText   = 16 << 20 // bytes
	maxEnded  = 1 << 53  // jobs ended
	maxWeight = 1 << 20  // weight of the jobs that ended in a bin; the constants of this package allow for some thousand
)

// Restore replaces what the learner has learned by the text of a Save of the same Kind; the Rank stays. For anything that Save
// does not write, it returns an error with the place, the value and what was expected, and changes nothing. It takes time and
// memory linear in the length of the text.
func (l *Learner) Restore(text []byte) error {
	if len(text) > maxText {
		return fmt.Errorf("restore run times: %d bytes, want at most %d", len(text), maxText)
	}
	p := parser{
		r: strictjson.New(text), kind: string(l.kind), levels: level(l.tuning.levels), sets: map[key]*set{}, lasts: map[last]bool{},
	}
	p.read()
	if err := p.r.Err(); err != nil {
		return fmt.Errorf("restore run times: line %d: %w", p.r.Line(), err)
	}
	l.ended, l.sets = p.ended, p.sets
	clear(l.views)
	l.last = nil
	return nil
}

// parser builds the sets of a learner. It reports errors to r, which keeps the first.
type parser struct {
	r      *strictjson.Reader
	kind   string
	levels level
	ended  int64
	sets   map[key]*set
	before key           // the set before in the list
	lasts  map[last]bool // the last jobs of the sets so far
}

// last is the job of a level that ended last in a set. It can have ended only in one set of the level.
type last struct {
	level level
	job   int64
}

var (
	textFields = []string{"version", "learner", "ended", "sets"}
	setFields  = []string{"of", "user", "workers", "last", "jobs"}
)

// The fields that a set must have, by level.
var setNeeds = [levels]uint32{
	allJobs:     strictjson.Bits(setFields, "of", "last", "jobs"),
	sameWorkers: strictjson.Bits(setFields, "of", "workers", "last", "jobs"),
	sameUser:    strictjson.Bits(setFields, "of", "user", "last", "jobs"),
	sameBoth:    strictjson.Bits(setFields, "of", "user", "workers", "last", "jobs"),
}

// read reads the fields in the order of textFields, whatever their order in the text.
func (p *parser) read() {
	r := p.r
	var at [4]strictjson.Place
	r.Object(textFields, 0b1111, func(field int) { at[field] = r.Skip() })
	r.End()
	for field, place := range at {
		if r.Err() != nil {
			return
		}
		switch r.Return(textFields[field], place); textFields[field] {
		case "version":
			r.Number(version, version)
		case "learner":
			r.OneOf(p.kind)
		case "ended":
			p.ended = r.Number(0, maxEnded)
		case "sets":
			r.List(most, func(int) { p.set() })
		}
	}
}

// set reads a set of similar jobs. Sets must be in the order in which Save writes them, so that none occurs twice.
func (p *parser) set() {
	r, s := p.r, new(set)
	var k key
	weights := 0
	seen := r.Object(setFields, setNeeds[allJobs], func(field int) {
		switch setFields[field] {
		case "of":
			k.level = level(r.OneOf(levelNames[:p.levels]...))
		case "user":
			user, ok := r.String(names.Longest)
			if k.user = user; !ok || user == "" || !names.OK(user) {
				r.Refuse("1 to 256 bytes of printable text")
			}
		case "workers":
			k.workers = r.Count(1)
		case "last":
			s.last = r.Number(1, max(p.ended, 1))
		case "jobs":
			weights = p.weights(s)
		}
	})
	if weights != Bins {
		r.Bad("jobs", fmt.Sprintf("%d weights", weights), fmt.Sprintf("%d, one for each bin", Bins))
	}
	if need := setNeeds[k.level]; seen != need {
		r.Bad("of", levelNames[k.level], "the user and the number of workers that this set's jobs share, and no other")
	}
	if s.last > p.ended {
		r.Bad("last", fmt.Sprint(s.last), fmt.Sprintf("at most the number of jobs that have ended, %d", p.ended))
	}
	if len(p.sets) > 0 && compareKeys(p.before, k) >= 0 {
		r.Bad("of", levelNames[k.level], "sets by level, user and number of workers, none twice")
	}
	if job := (last{k.level, s.last}); p.lasts[job] {
		r.Bad("last", fmt.Sprint(s.last), "a job that is the last in no other set of this level")
	} else {
		p.lasts[job] = true
	}
	p.sets[k], p.before = s, k
}

// weights reads the weights of a set and returns their number.
func (p *parser) weights(s *set) int {
	r := p.r
	n := r.List(Bins, func(i int) {
		w, err := strconv.ParseFloat(string(r.Numeral()), 64)
		if err != nil || w > maxWeight || math.Signbit(w) {
			r.Refuse(fmt.Sprintf("a number from 0 to %d", maxWeight))
			return
		}
		s.jobs[i] = w
	})
	s.total()
	return n
}
