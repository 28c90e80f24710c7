package belief

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Limits of a text that Speeds.Restore reads.
const (
	maxSpeeds    = 64 << 20 // bytes
	maxRead      = 1 << 40  // readings
	maxEffect    = 100      // of a configuration
	maxLog       = 800      // logarithm of a reading
	maxPrecision = 1e12
)

// Restore replaces what was learned by the text of a Save, or of a Save of an earlier version. What such a text says is kept, and
// nothing is known of the effect of several racks: readings there count as readings in one. For anything that no Save has
// written, Restore returns an error with the place, the value and what was expected, and changes nothing. It takes time and
// memory linear in the length of the text.
func (l *Speeds) Restore(text []byte) error {
	if len(text) > maxSpeeds {
		return fmt.Errorf("restore speeds: %d bytes, want at most %d", len(text), maxSpeeds)
	}
	p := speedsParser{r: strictjson.New(text), l: NewSpeeds(l.learns)}
	p.parse()
	if err := p.r.Err(); err != nil {
		return fmt.Errorf("restore speeds: line %d: %w", p.r.Line(), err)
	}
	l.read, l.width, l.types, l.circles, l.units, l.jobs = p.l.read, p.l.width, p.l.types, p.l.circles, p.l.units, p.l.jobs
	l.made++
	l.settle()
	return nil
}

// speedsParser fills l. It reports errors to r, which keeps the first.
type speedsParser struct {
	r     *strictjson.Reader
	l     *Speeds
	lacks int // effects that the text does not have: from racksAt on
}

var (
	speedsFields     = []string{"version", "learner", "read", "width", "types", "circles", "units", "jobs"}
	circleFields     = []string{"of", "name", "last", "differences", "precision", "pull"}
	unitsFields      = []string{"of", "name", "last", "readings", "x", "y", "excess"}
	measuredFields   = []string{"name", "model", "user", "group", "last", "seen_ns", "readings", "x", "y", "told", "differences"}
	differenceFields = []string{"x", "y", "variance"}
)

// all returns the set of all fields.
func all(fields []string) uint32 { return 1<<len(fields) - 1 }

// parse reads the fields in the order of speedsFields, whatever their order in the text.
func (p *speedsParser) parse() {
	r := p.r
	var at [8]strictjson.Place
	width := strictjson.Bits(speedsFields, "width")
	seen := r.Object(speedsFields, all(speedsFields)&^width, func(field int) { at[field] = r.Skip() })
	r.End()
	for field, place := range at {
		if r.Err() != nil {
			return
		}
		if seen&(1<<field) == 0 {
			continue
		}
		switch r.Return(speedsFields[field], place); speedsFields[field] {
		case "version":
			if version := r.Number(1, speedsVersion); (version > 1) != (seen&width != 0) {
				r.Bad("width", "in version "+fmt.Sprint(version), "it from version 2 on, and not before")
			} else if version < 3 {
				p.lacks = 1
			}
		case "learner":
			r.OneOf("speeds")
		case "read":
			p.l.read = r.Number(0, maxRead)
		case "width":
			p.l.width = r.Float(-mostWidth, mostWidth)
		case "types":
			r.List(mostTypes, func(int) { p.gpuType() })
		case "circles":
			before := circle{name: "\x00"}
			r.List(mostCircles, func(i int) { before = p.evidence(i, before) })
		case "units":
			before := circle{}
			r.List(mostCircles, func(i int) { before = p.units(i, before) })
		case "jobs":
			before := ""
			r.List(mostMeasured, func(int) { before = p.measured(before) })
		}
	}
}

func (p *speedsParser) gpuType() {
	name, ok := p.r.String(names.Longest)
	if !ok || !names.OK(name) || strings.Contains(name, "|") || typeSpeed(name).reference || slices.Contains(p.l.types, name) {
		p.r.Refuse("the name of another GPU type, which does not count as V100")
	}
	p.l.types = append(p.l.types, name)
}

// name reads a name of printable text.
func (p *speedsParser) name() string {
	name, ok := p.r.String(names.Longest)
	if !ok || !names.OK(name) {
		p.r.Refuse("at most 256 bytes of printable text")
	}
	return name
}

// counted reads a number of readings or of what follows from readings.
func (p *speedsParser) counted(least int64) int64 { return p.r.Number(least, max(p.l.read, least)) }

// vector reads one number for each effect that the text has.
func (p *speedsParser) vector(x *vector, most float64) {
	p.numbers(effects-p.lacks, func(i int, v float64) { x[p.effect(i)] = v }, most)
}

// effect returns the index of the effect that has the given index in the text.
func (p *speedsParser) effect(i int) int {
	if i < racksAt {
		return i
	}
	return i + p.lacks
}

func (p *speedsParser) numbers(n int, take func(i int, v float64), most float64) {
	if got := p.r.List(n, func(i int) { take(i, p.r.Float(-most, most)) }); got != n {
		p.r.Fail(fmt.Errorf("a list of %d numbers, want %d", got, n))
	}
}

// head reads a field that entries of circles and of units have in common.
func (p *speedsParser) head(field string, c *circle, last *int64) {
	switch field {
	case "of":
		c.scope = scope(p.r.OneOf(scopeNames[:]...))
	case "name":
		c.name = p.name()
	case "last":
		*last = p.counted(1)
	}
}

// check reports an error unless the circle of an entry is valid and after the one before, and its numbers are at most that of all
// readings. The first entry has none before it.
func (p *speedsParser) check(i int, before, c circle, last, count int64) {
	if (c.scope == everyJob) != (c.name == "") {
		p.r.Bad("name", c.name, "the name of the model, user or group, and none of all jobs")
	}
	if i > 0 && compareCircles(before, c) >= 0 {
		p.r.Bad("of", scopeNames[c.scope], "entries by circle and name, none twice")
	}
	if last > p.l.read || count > p.l.read {
		p.r.Bad("last", fmt.Sprint(last), "at most the number of readings")
	}
}

func (p *speedsParser) evidence(i int, before circle) circle {
	r, e, c := p.r, new(evidence), circle{}
	need := all(circleFields) &^ strictjson.Bits(circleFields, "name")
	r.Object(circleFields, need, func(field int) {
		switch circleFields[field] {
		default:
			p.head(circleFields[field], &c, &e.last)
		case "differences":
			e.count = p.counted(1)
		case "precision":
			row, column, n := 0, 0, effects-p.lacks
			p.numbers(n*(n+1)/2, func(_ int, v float64) {
				i, k := p.effect(row), p.effect(column)
				e.precision[i][k], e.precision[k][i] = v, v
				if column++; column > row {
					row, column = row+1, 0
				}
			}, maxPrecision)
		case "pull":
			p.vector(&e.pull, maxPrecision)
		}
	})
	p.check(i, before, c, e.last, e.count)
	test := e.precision
	for i := range test {
		test[i][i] = test[i][i]*(1+1e-9) + 1e-3
	}
	if r.Err() == nil && !test.factor() {
		r.Bad("precision", "a matrix", "a positive semidefinite one")
	}
	p.l.circles[c] = e
	return c
}

func (p *speedsParser) units(i int, before circle) circle {
	r, u, c := p.r, new(units), circle{}
	r.Object(unitsFields, all(unitsFields), func(field int) {
		switch unitsFields[field] {
		default:
			p.head(unitsFields[field], &c, &u.last)
		case "readings":
			u.count = p.counted(1)
		case "x":
			p.vector(&u.x, maxEffect)
		case "y":
			u.y = p.r.Float(-maxLog, maxLog)
		case "excess":
			u.excess = p.r.Float(0, maxPrecision)
		}
	})
	p.check(i, before, c, u.last, u.count)
	if c.scope != ofModel && c.scope != ofGroup {
		r.Bad("of", scopeNames[c.scope], "model or group")
	}
	p.l.units[c] = u
	return c
}

func (p *speedsParser) measured(before string) string {
	r, name := p.r, ""
	j := &measured{}
	r.Object(measuredFields, all(measuredFields), func(field int) {
		switch measuredFields[field] {
		case "name":
			name = p.name()
		case "model":
			j.model = p.name()
		case "user":
			j.user = p.name()
		case "group":
			j.group = p.name()
		case "last":
			j.last = p.counted(0)
		case "seen_ns":
			j.seen = time.Duration(r.Number(0, math.MaxInt64))
		case "readings":
			j.count = p.counted(0)
		case "x":
			p.vector(&j.x, maxEffect)
		case "y":
			j.y = p.r.Float(-maxLog, maxLog)
		case "told":
			j.told = p.counted(0)
		case "differences":
			r.List(mostOwn, func(int) { j.differences = append(j.differences, p.difference()) })
		}
	})
	if name <= before {
		r.Bad("name", name, "a name, and jobs in the order of their names, none twice")
	}
	if j.last > p.l.read || j.count > p.l.read || j.told > max(j.count-1, 0) || (j.last == 0) != (j.count == 0) {
		r.Bad("readings", fmt.Sprint(j.count), "as many as were read of the job, and fewer differences")
	}
	if int64(len(j.differences)) != min(j.told, mostOwn) {
		r.Bad("differences", fmt.Sprint(len(j.differences)), fmt.Sprintf("those that were told, at most %d", mostOwn))
	}
	whole := newMeasured(&cluster.JobSpec{Name: name, Model: j.model, User: j.user, Group: j.group})
	whole.last, whole.seen, whole.count, whole.x, whole.y = j.last, j.seen, j.count, j.x, j.y
	whole.told, whole.differences = j.told, j.differences
	p.l.jobs[name] = whole
	return name
}

func (p *speedsParser) difference() (d difference) {
	p.r.Object(differenceFields, all(differenceFields), func(field int) {
		switch differenceFields[field] {
		case "x":
			p.vector(&d.x, maxEffect)
		case "y":
			d.y = p.r.Float(-2*maxLog, 2*maxLog)
		case "variance":
			d.variance = p.r.Float(readingVariance, 2*(readingVariance+placedVariance))
		}
	})
	return d
}
