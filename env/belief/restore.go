package belief

import (
	"fmt"
	"math"
	"strconv"

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
	p := parser{kind: l.kind, levels: level(l.tuning.levels), sets: map[key]*set{}, lasts: map[last]bool{}}
	p.r = memories.New(text, &p)
	p.read()
	if err := p.r.Located(); err != nil {
		return fmt.Errorf("restore run times: %w", err)
	}
	l.ended, l.sets = p.ended, p.sets
	clear(l.views)
	l.last = nil
	return nil
}

// parser builds the sets of a learner. It reports errors to r, which keeps the first.
type parser struct {
	r      *strictjson.Reader
	kind   Kind
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

// learnerText is the text of a Learner. Its sets are read last.
type learnerText struct {
	Version int              `belief:"version,need,1..1"`
	Learner Kind             `belief:"learner,need,kind"`
	Ended   int64            `belief:"ended,need,0..maxEnded"`
	Sets    strictjson.Place `belief:"sets,need,later"`
}

// setText is a set of similar jobs.
type setText struct {
	Of      level  `belief:"of,need,level"`
	User    string `belief:"user,given"`
	Workers int32  `belief:"workers,1.."`
	Last    int64  `belief:"last,need,last"`
	Jobs    bins   `belief:"jobs,need,bins"`
}

// bins are the weights of a set, and how many a text has.
type bins struct {
	weights [Bins]float64
	n       int
}

var setFields = strictjson.Names("belief", setText{})

// The fields that a set must have, by level.
var setNeeds = [levels]uint32{
	allJobs:     strictjson.Bits(setFields, "of", "last", "jobs"),
	sameWorkers: strictjson.Bits(setFields, "of", "workers", "last", "jobs"),
	sameUser:    strictjson.Bits(setFields, "of", "user", "last", "jobs"),
	sameBoth:    strictjson.Bits(setFields, "of", "user", "workers", "last", "jobs"),
}

func (p *parser) read() {
	var t learnerText
	p.r.Struct(&t)
	p.r.End()
	p.ended = t.Ended
	p.r.Return("sets", t.Sets)
	p.r.List(most, func(int) { p.set() })
}

// set reads a set of similar jobs. Sets must be in the order in which Save writes them, so that none occurs twice.
func (p *parser) set() {
	r := p.r
	var t setText
	seen := r.Struct(&t)
	k := key{level: t.Of, user: t.User, workers: t.Workers}
	s := &set{last: t.Last, jobs: t.Jobs.weights}
	s.total()
	if t.Jobs.n != Bins {
		r.Bad("jobs", fmt.Sprintf("%d weights", t.Jobs.n), fmt.Sprintf("%d, one for each bin", Bins))
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

func readBins(r *strictjson.Reader, to *bins) {
	to.n = r.List(Bins, func(i int) {
		w, err := strconv.ParseFloat(string(r.Numeral()), 64)
		if err != nil || w > maxWeight || math.Signbit(w) {
			r.Refuse(fmt.Sprintf("a number from 0 to %d", maxWeight))
			return
		}
		to.weights[i] = w
	})
}
