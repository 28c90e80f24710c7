package belief

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// version is the version of the format that Save writes and Restore reads.
const version = 1

// Save returns what the learner has learned, as a JSON text. A learner that restores it predicts the same, to the last bit, and
// goes on learning in the same way. The text does not contain the learner's Rank. Equal learners have equal texts.
//
//	{"version":1,"learner":"history","ended":2,"sets":[
//	{"of":"all","last":2,"jobs":[0,0.25,0.5,0.25,...]},
//	{"of":"workers","workers":8,"last":1,"jobs":[...]},
//	{"of":"user","user":"ada","last":2,"jobs":[...]},
//	{"of":"user-workers","user":"ada","workers":8,"last":1,"jobs":[...]}]}
//
// The field ended is the number of jobs that have ended. Of each set of similar jobs, last is the job that ended last, counted
// from 1, and jobs contains the weight of the jobs that ended in each bin of run time.
func (l *Learner) Save() []byte {
	keys := make([]key, 0, len(l.sets))
	for k := range l.sets {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, compareKeys)
	b := fmt.Appendf(nil, `{"version":%d,"learner":%q,"ended":%d,"sets":[`, version, l.kind, l.ended)
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, "\n{\"of\":%q", levelNames[k.level])
		if k.user != "" {
			user, err := json.Marshal(k.user)
			if err != nil {
				panic("belief: " + err.Error()) // strings always encode
			}
			b = append(append(b, `,"user":`...), user...)
		}
		if k.level == sameWorkers || k.level == sameBoth {
			b = fmt.Appendf(b, `,"workers":%d`, k.workers)
		}
		s := l.sets[k]
		b = fmt.Appendf(b, `,"last":%d,"jobs":[`, s.last)
		for bin, w := range s.jobs {
			if bin > 0 {
				b = append(b, ',')
			}
			b = strconv.AppendFloat(b, w, 'g', -1, 64)
		}
		b = append(b, "]}"...)
	}
	return append(b, "]}\n"...)
}

// compareKeys orders keys by level, user and number of workers.
func compareKeys(a, b key) int {
	return cmp.Or(cmp.Compare(a.level, b.level), cmp.Compare(a.user, b.user), cmp.Compare(a.workers, b.workers))
}
