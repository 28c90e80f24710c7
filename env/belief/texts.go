package belief

import (
	"fmt"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// memoryText is the text of a Memory:
//
//	{"format":"clustergym-beliefs","version":1,
//	"run_times":{"version":1,"learner":"history",...},
//	"speeds":{"version":3,"learner":"speeds",...},
//	"last":{"at_ns":0,"servers":["a"],"running":[{"name":"j","user":"u","workers":1,"age_ns":0,"rate":1}]}}
//
// The last state is left out if there is none. The owner of a reader of any of the texts is a memoryText.
type memoryText struct {
	Format   uint8       `belief:"format,need,format"`
	Version  int         `belief:"version,need,1..1"`
	RunTimes learnerText `belief:"run_times,need,line"`
	Speeds   speedsText  `belief:"speeds,need,line"`
	Last     *lastText   `belief:"last,line"`
}

// learnerText is the text of a Learner, with the sets of similar jobs by level, user and number of workers:
//
//	{"version":1,"learner":"history","ended":2,"sets":[
//	{"of":"all","last":2,"jobs":[0,0.25,0.5,0.25,...]},
//	{"of":"workers","workers":8,"last":1,"jobs":[...]},
//	{"of":"user","user":"ada","last":2,"jobs":[...]},
//	{"of":"user-workers","user":"ada","workers":8,"last":1,"jobs":[...]}]}
//
// The field ended is the number of jobs that have ended. Of each set, last is the job that ended last, counted from 1, and jobs
// contains the weight of the jobs that ended in each bin of run time. The sets must come last: they are read by the other fields.
type learnerText struct {
	Version int       `belief:"version,need,1..1"`
	Learner Kind      `belief:"learner,need,kind"`
	Ended   int64     `belief:"ended,need,0..maxEnded"`
	Sets    []setText `belief:"sets,need,most=most,lines"`

	lasts map[last]bool // the last jobs of the sets so far
}

type setText struct {
	key
	set
}

// last is the job of a level that ended last in a set. It can have ended only in one set of the level.
type last struct {
	level level
	job   int64
}

// Check refuses a set that does not fit to its level, to the number of ended jobs or to the sets before it.
func (s *setText) Check(r *strictjson.Reader, _ uint32) {
	t := &owner(r).RunTimes
	k := s.key
	if user, workers := k.Level.shares(); user != (k.User != "") || workers != (k.Workers > 0) {
		r.Bad("of", levelNames[k.Level], "the user and the number of workers that this set's jobs share, and no other")
	}
	if s.Last > t.Ended {
		r.Bad("last", fmt.Sprint(s.Last), fmt.Sprintf("at most the number of jobs that have ended, %d", t.Ended))
	}
	if n := len(t.Sets); n > 1 && compareKeys(t.Sets[n-2].key, k) >= 0 {
		r.Bad("of", levelNames[k.Level], "sets by level, user and number of workers, none twice")
	}
	job := last{k.Level, s.Last}
	if t.lasts[job] {
		r.Bad("last", fmt.Sprint(s.Last), "a job that is the last in no other set of this level")
	}
	t.lasts[job] = true
}

// speedsText is the text of Speeds:
//
//	{"version":3,"learner":"speeds","read":5,"width":0.024,"types":["T4"],"circles":[
//	{"of":"all","last":5,"differences":2,"precision":[...],"pull":[...]},
//	{"of":"user","name":"ada","last":5,"differences":2,"precision":[...],"pull":[...]}],"units":[
//	{"of":"group","name":"nightly","last":1,"readings":1,"x":[...],"y":1.5,"excess":0}],"jobs":[
//	{"name":"job 1","model":"","user":"ada","group":"nightly","last":2,"seen_ns":60000000000,"readings":2,"x":[...],"y":1.5,
//	"told":1,"differences":[{"x":[...],"y":-0.5,"variance":0.0068}]}]}
//
// A circle is a set of jobs that are expected to react alike, with a normal likelihood of their coefficients: the lower
// triangle of its precision, row by row, and the precision times its maximum. Units contains means of first readings of jobs,
// and jobs the mean and the differences of the readings of single jobs. Vectors have one number for each effect. The width is the
// logarithm of the factor on all standard deviations. The lists must come last: they are read by the version and the number of
// readings.
type speedsText struct {
	Version int          `belief:"version,need,1..speedsVersion"`
	Learner uint8        `belief:"learner,need,speeds"`
	Read    int64        `belief:"read,need,0..maxRead"`
	Width   float64      `belief:"width,say,-mostWidth..mostWidth"`
	Types   []string     `belief:"types,need,type,most=mostTypes"`
	Circles []circleText `belief:"circles,need,most=mostCircles,lines"`
	Units   []unitsText  `belief:"units,need,most=mostCircles,lines"`
	Jobs    []jobText    `belief:"jobs,need,most=mostMeasured,lines"`
}

type circleText struct {
	circle
	evidence
}

type unitsText struct {
	circle
	units
}

type jobText struct {
	Name string `belief:"name,need,name"`
	identity
	readings
}

// Check refuses a width that the version does not have.
func (t *speedsText) Check(r *strictjson.Reader, seen uint32) {
	if width := seen&strictjson.Bits(strictjson.Names("belief", *t), "width") != 0; width != (t.Version > 1) {
		r.Bad("width", "in version "+fmt.Sprint(t.Version), "it from version 2 on, and not before")
	}
}

// lacks returns the number of effects that the text does not have: those from racksAt on.
func (t *speedsText) lacks() int {
	if 0 < t.Version && t.Version < 3 {
		return 1
	}
	return 0
}

func (c *circleText) Check(r *strictjson.Reader, _ uint32) {
	if all := owner(r).Speeds.Circles; len(all) > 1 {
		c.circle.follow(r, all[len(all)-2].circle)
	}
	c.circle.check(r, c.Last, c.Count)
	test := c.Precision
	for i := range test {
		test[i][i] = test[i][i]*(1+1e-9) + 1e-3
	}
	if !test.factor() {
		r.Bad("precision", "a matrix", "a positive semidefinite one")
	}
}

func (u *unitsText) Check(r *strictjson.Reader, _ uint32) {
	if all := owner(r).Speeds.Units; len(all) > 1 {
		u.circle.follow(r, all[len(all)-2].circle)
	}
	if u.circle.check(r, u.Last, u.Count); u.Scope != ofModel && u.Scope != ofGroup {
		r.Bad("of", scopeNames[u.Scope], "model or group")
	}
}

// follow refuses the circle of an entry unless it comes after that of the entry before.
func (c *circle) follow(r *strictjson.Reader, before circle) {
	if compareCircles(before, *c) >= 0 {
		r.Bad("of", scopeNames[c.Scope], "entries by circle and name, none twice")
	}
}

// check refuses the circle of an entry that is not valid, and numbers of the entry that exceed that of all readings.
func (c *circle) check(r *strictjson.Reader, last, count int64) {
	if (c.Scope == everyJob) != (c.Name == "") {
		r.Bad("name", c.Name, "the name of the model, user or group, and none of all jobs")
	}
	if read := owner(r).Speeds.Read; max(last, count) > read {
		r.Bad("last", fmt.Sprint(last), fmt.Sprintf("at most the number of readings, %d", read))
	}
}

func (j *jobText) Check(r *strictjson.Reader, _ uint32) {
	t := &owner(r).Speeds
	if n := len(t.Jobs); j.Name == "" || n > 1 && t.Jobs[n-2].Name >= j.Name {
		r.Bad("name", j.Name, "a name, and jobs in the order of their names, none twice")
	}
	if max(j.Last, j.Count) > t.Read || j.Told > max(j.Count-1, 0) || (j.Last == 0) != (j.Count == 0) {
		r.Bad("readings", fmt.Sprint(j.Count), "as many as were read of the job, and fewer differences")
	}
	if int64(len(j.Differences)) != min(j.Told, mostOwn) {
		r.Bad("differences", fmt.Sprint(len(j.Differences)), fmt.Sprintf("those that were told, at most %d", mostOwn))
	}
}

// lastText is the last state that a Memory has seen.
type lastText struct {
	At      time.Duration `belief:"at_ns,need"`
	Servers []string      `belief:"servers,need,name,most=mostLast"`
	Running []runText     `belief:"running,need,most=mostLast,lines"`
}

type runText struct {
	Name string `belief:"name,need,name"`
	runs
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
