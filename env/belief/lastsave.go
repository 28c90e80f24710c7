package belief

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// The limits of the last state in the text of a Memory.
const (
	maxLast  = 32 << 20 // bytes; Save leaves out a state whose text is longer
	mostLast = 1 << 20  // servers, and running jobs
)

// lastState is what a Memory keeps of the last state: which servers it had, and which jobs ran.
type lastState struct {
	at      time.Duration
	servers map[string]bool // nil before the first state
	running map[string]runs // by name
}

// append appends the field of the text of a Memory that contains the state, or nothing if there is none, or if it is too long
// or has names that cannot be saved.
func (l *lastState) append(b []byte) []byte {
	if l.servers == nil {
		return b
	}
	begin := len(b)
	b = fmt.Appendf(b, ",\n\"last\":{\"at_ns\":%d,\"servers\":[", int64(l.at))
	ok := len(l.servers) <= mostLast && len(l.running) <= mostLast
	for i, name := range slices.Sorted(maps.Keys(l.servers)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendName(b, name)
		ok = ok && names.OK(name)
	}
	b = append(b, "],\"running\":["...)
	for i, name := range slices.Sorted(maps.Keys(l.running)) {
		if i > 0 {
			b = append(b, ',')
		}
		j := l.running[name]
		b = appendName(append(b, "\n{\"name\":"...), name)
		b = appendName(append(b, ",\"user\":"...), j.user)
		b = fmt.Appendf(b, ",\"workers\":%d,\"age_ns\":%d,\"rate\":", j.workers, int64(j.age))
		b = append(strconv.AppendFloat(b, j.rate, 'g', -1, 64), '}')
		ok = ok && names.OK(name) && names.OK(j.user) && j.workers >= 1 && j.age >= 0 && j.rate >= 0 && !math.IsInf(j.rate, 0)
	}
	if b = append(b, "]}"...); !ok || len(b)-begin > maxLast {
		return b[:begin]
	}
	return b
}

var (
	lastFields    = []string{"at_ns", "servers", "running"}
	runningFields = []string{"name", "user", "workers", "age_ns", "rate"}
)

// read reads the field that append writes.
func (l *lastState) read(r *strictjson.Reader) {
	*l = lastState{servers: map[string]bool{}, running: map[string]runs{}}
	name := func() string {
		s, ok := r.String(names.Longest)
		if !ok || !names.OK(s) {
			r.Refuse("a name")
		}
		return s
	}
	r.Object(lastFields, all(lastFields), func(field int) {
		switch lastFields[field] {
		case "at_ns":
			l.at = time.Duration(r.Number(0, math.MaxInt64))
		case "servers":
			before := ""
			r.List(mostLast, func(i int) {
				if s := name(); i > 0 && s <= before {
					r.Refuse("names in ascending order, each once")
				} else {
					before, l.servers[s] = s, true
				}
			})
		case "running":
			before := ""
			r.List(mostLast, func(i int) {
				job, j := "", runs{}
				r.Object(runningFields, all(runningFields), func(field int) {
					switch runningFields[field] {
					case "name":
						if job = name(); i > 0 && job <= before {
							r.Refuse("names in ascending order, each once")
						}
					case "user":
						j.user = name()
					case "workers":
						j.workers = r.Count(1)
					case "age_ns":
						j.age = time.Duration(r.Number(0, math.MaxInt64))
					case "rate":
						j.rate = r.Float(0, math.MaxFloat64)
					}
				})
				before, l.running[job] = job, j
			})
		}
	})
}
