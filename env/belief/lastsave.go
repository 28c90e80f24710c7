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

// lastText and runText are the field that append writes.
type lastText struct {
	At      time.Duration `belief:"at_ns,need"`
	Servers []string      `belief:"servers,need,name,most=mostLast"`
	Running []runText     `belief:"running,need,most=mostLast"`
}

type runText struct {
	Name    string        `belief:"name,need,name"`
	User    string        `belief:"user,need,name"`
	Workers int32         `belief:"workers,need,1.."`
	Age     time.Duration `belief:"age_ns,need"`
	Rate    float64       `belief:"rate,need,0.."`
}

// Check refuses lists that are not in ascending order.
func (t *lastText) Check(r *strictjson.Reader, _ uint32) {
	ascend := func(field string, n int, name func(i int) string) {
		for i := 1; i < n; i++ {
			if name(i) <= name(i-1) {
				r.Bad(fmt.Sprintf(field, i), strconv.Quote(name(i)), "names in ascending order, each once")
			}
		}
	}
	ascend("servers[%d]", len(t.Servers), func(i int) string { return t.Servers[i] })
	ascend("running[%d].name", len(t.Running), func(i int) string { return t.Running[i].Name })
}

// state returns the state of a text.
func (t *lastText) state() lastState {
	l := lastState{at: t.At, servers: map[string]bool{}, running: map[string]runs{}}
	for _, name := range t.Servers {
		l.servers[name] = true
	}
	for _, j := range t.Running {
		l.running[j.Name] = runs{j.User, j.Workers, j.Age, j.Rate}
	}
	return l
}
