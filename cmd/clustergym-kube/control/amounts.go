package control

import (
	"maps"
	"slices"
	"time"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/cluster"
)

// pin is what each worker of a gang shall hold until a time, because with more or less of something it was slower.
type pin struct {
	amount cluster.Amount
	until  time.Time
}

// amounts decides what the pods of gangs may hold.
type amounts struct {
	bounds map[string]amountBounds
	pins   map[string]pin  // by gang
	failed map[string]kept // gangs whose pods could not be resized
}

// kept says until when a gang keeps what it holds, and whether that is because its pods got back what one of them held.
type kept struct {
	until  time.Time
	undone bool
}

// keep notes that a gang keeps what it holds, for as long as before or longer.
func (a *amounts) keep(gang string, k kept) {
	was := a.failed[gang]
	if k.undone = k.undone || was.undone; was.until.After(k.until) {
		k.until = was.until
	}
	a.failed[gang] = k
}

// boundsOf returns the bounds of a gang; ok is false if its pods keep what they hold.
func (a *amounts) boundsOf(j *mirror.Job) (b amountBounds, ok bool) {
	if b, ok = a.bounds[j.Spec.Tenant]; !ok {
		b, ok = a.bounds[elsewhere]
	}
	_, failed := a.failed[j.Spec.Name]
	return b, ok && !j.Fixed && !j.Resizing && !failed
}

// of returns what a worker of a gang may hold. The placement is that of a running gang.
func (a *amounts) of(j *mirror.Job, now cluster.Placement) (least, most cluster.Amount) {
	b, free := a.boundsOf(j)
	least, most = j.Spec.Request, j.Spec.Request
	switch {
	case free:
		least.CPUMilli, most.CPUMilli = b.cpu.of(j.Spec.Request.CPUMilli)
		least.MemMiB, most.MemMiB = b.mem.of(j.Spec.Request.MemMiB)
		least.CPUMilli, least.MemMiB = max(least.CPUMilli, j.Least.CPUMilli), max(least.MemMiB, j.Least.MemMiB)
		if p, pinned := a.pins[j.Spec.Name]; pinned && j.Running { // within the bounds of now
			kept := clamped(p.amount, least, most)
			return kept, kept
		}
	case len(now) > 0:
		least, most = now[0].Amount, now[0].Amount
		for _, p := range now[1:] {
			least.CPUMilli, most.CPUMilli = min(least.CPUMilli, p.CPUMilli), max(most.CPUMilli, p.CPUMilli)
			least.MemMiB, most.MemMiB = min(least.MemMiB, p.MemMiB), max(most.MemMiB, p.MemMiB)
		}
	}
	return least, most
}

// clamped returns the amount between two others that is next to a.
func clamped(a, least, most cluster.Amount) cluster.Amount {
	a.CPUMilli = min(max(a.CPUMilli, least.CPUMilli), most.CPUMilli)
	a.MemMiB = min(max(a.MemMiB, least.MemMiB), most.MemMiB)
	return a
}

// A gang whose reading is worse by the fraction worse than with other amounts gets those back, and keeps them for the time
// pinned.
const (
	worse  = 0.05
	pinned = time.Hour
)

// judge pins the running gangs that are slower with the amounts that they hold than they were with others that the bounds
// allow, on as many servers of the same kind. It returns the gangs that it has pinned.
func (a *amounts) judge(v *mirror.View, now time.Time) (slower []string) {
	maps.DeleteFunc(a.pins, func(_ string, p pin) bool { return !now.Before(p.until) })
	maps.DeleteFunc(a.failed, func(_ string, k kept) bool { return !now.Before(k.until) })
	for i := range v.Jobs {
		j, id := &v.Jobs[i], cluster.JobID(i)
		_, judged := a.pins[j.Spec.Name]
		if _, free := a.boundsOf(j); !j.Running || !free || judged {
			continue
		}
		readings, holds := v.State.Readings(id), v.State.Configuration(id)
		at := slices.IndexFunc(readings, func(r cluster.Reading) bool { return r.Configuration == holds })
		if at < 0 {
			continue
		}
		least, most := a.of(j, nil)
		best := readings[at]
		for _, r := range readings {
			alike := r.Configuration
			if alike.Amount = holds.Amount; alike == holds && r.Speed > best.Speed &&
				r.Configuration.Amount == clamped(r.Configuration.Amount, least, most) {
				best = r
			}
		}
		if readings[at].Speed < (1-worse)*best.Speed {
			a.pins[j.Spec.Name] = pin{best.Amount, now.Add(pinned)}
			slower = append(slower, j.Spec.Name)
		}
	}
	return slower
}

// restore gives the pinned gangs what they are pinned to, as far as there is room.
func (a *amounts) restore(v *mirror.View) {
	tx := v.State.Begin(nil)
	defer tx.End()
	for i := range v.Jobs {
		j, id := &v.Jobs[i], cluster.JobID(i)
		_, pinned := a.pins[j.Spec.Name]
		if _, free := a.boundsOf(j); !pinned || !free || !j.Running {
			continue
		}
		amount, _ := a.of(j, nil)
		_ = give(tx, id, amount) // later, if there is no room now
	}
}

// undo makes room in the view's State for what undoes the resizes that kubelets cannot carry out. It returns the gangs for which
// there is room, with what each of their pods shall hold.
func (a *amounts) undo(v *mirror.View, m *mirror.Config) (undone []undoing) {
	tx := v.State.Begin(nil)
	defer tx.End()
	for i := range v.Jobs {
		j, id := &v.Jobs[i], cluster.JobID(i)
		if j.Stuck == nil {
			continue
		}
		u := undoing{job: j, to: m.Granted(j.Stuck), each: a.failed[j.Spec.Name].undone}
		is := slices.Clone(v.State.Placement(id))
		for k := range is {
			is[k].Amount = larger(is[k].Amount, u.to)
		}
		if u.each || tx.Resize(id, is) == nil {
			undone = append(undone, u)
		}
	}
	return undone
}

// undoing undoes a resize that a kubelet cannot carry out: all pods of the gang get what the stuck pod holds. If that was done
// before and a kubelet cannot carry it out either, each pod keeps what it holds.
type undoing struct {
	job  *mirror.Job
	to   cluster.Amount
	each bool
}

// larger returns the larger amount of CPU and of memory.
func larger(a, b cluster.Amount) cluster.Amount {
	a.CPUMilli, a.MemMiB = max(a.CPUMilli, b.CPUMilli), max(a.MemMiB, b.MemMiB)
	return a
}

// give gives each worker of a running gang an amount. It returns an error if there is no room.
func give(tx *cluster.Txn, id cluster.JobID, a cluster.Amount) error {
	is := slices.Clone(tx.View().Placement(id))
	for i := range is {
		is[i].Amount = a
	}
	return tx.Resize(id, is)
}
