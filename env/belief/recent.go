package belief

import (
	"slices"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// remembered is the number of jobs of a user that a learner remembers one by one.
const remembered = 5

// user is what a learner with a network remembers of the jobs of one user, or of those without a user, since the episode began.
type user struct {
	changed int64       // how often something changed that inputs depend on
	live    []*live     // jobs that have been submitted and have not ended, in order of submission
	ended   []ending    // the last jobs that ended, the latest first, at most remembered
	count   int         // number of jobs that ended
	submits []submitted // the latest last, at most remembered
}

// ending is a job that ended: the bin of its run time, and its number of workers.
type ending struct {
	bin     int
	workers int32
}

type submitted struct {
	at      time.Duration
	workers int32
}

// live is a job that has been submitted and has not ended.
type live struct {
	spec           *cluster.JobSpec
	owner          *user
	before         submitted // the job that the user submitted before, workers 0 if there is none
	burst          int       // how many of the last jobs that the user submitted before came within ten minutes before
	step           int       // the last edge that the job's age has reached; -1 before it runs
	ended, changed int64     // what d takes into account
	d              answered
}

// Arrived tells the learner of a job that waits or runs. A learner without a network ignores it. The spec must not change until
// the job ends; the learner knows the job by this pointer.
func (l *Learner) Arrived(spec *cluster.JobSpec) {
	if l.net == nil || l.live[spec] != nil {
		return
	}
	w := l.who(spec)
	u := l.users[w.user]
	if u == nil {
		l.roomForUser()
		u = new(user)
		l.users[w.user] = u
	}
	j := &live{spec: spec, owner: u, step: -1, ended: -1}
	for _, s := range u.submits {
		if spec.Submit-s.at <= 10*time.Minute {
			j.burst++
		}
		j.before = s
	}
	if len(u.submits) == remembered {
		u.submits = slices.Delete(u.submits, 0, 1)
	}
	u.submits = append(u.submits, submitted{spec.Submit, w.workers})
	u.live = append(u.live, j)
	l.live[spec] = j
}

// roomForUser makes room for another user. If as many are known as allowed, it forgets those without live jobs.
func (l *Learner) roomForUser() {
	if len(l.users) < most {
		return
	}
	for name, u := range l.users {
		if len(u.live) == 0 {
			delete(l.users, name)
		}
	}
}

// Runs tells the learner how long a job has run. A learner without a network ignores it, and jobs of which Arrived did not tell
// it.
func (l *Learner) Runs(spec *cluster.JobSpec, age time.Duration) {
	if j := l.live[spec]; j != nil {
		if s := step(max(age, 0)); s > j.step {
			j.step = s
			j.owner.changed++
		}
	}
}

// gone removes a live job that has ended.
func (l *Learner) gone(spec *cluster.JobSpec, ran time.Duration) {
	j := l.live[spec]
	if j == nil {
		return
	}
	delete(l.live, spec)
	u := j.owner
	u.live = slices.DeleteFunc(u.live, func(other *live) bool { return other == j })
	if len(u.ended) == remembered {
		u.ended = u.ended[:remembered-1]
	}
	u.ended = slices.Insert(u.ended, 0, ending{min(step(ran), open), max(spec.Workers, 1)})
	u.count++
	u.changed++
}
