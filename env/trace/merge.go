package trace

import "strconv"

// Merge puts the jobs of several workloads on one clock, each re-based so that its first submits at 0. It copies the jobs
// and leaves ws as they are.
//
// Ids are made unique by the number of the workload in ws from 0, as in "1/17"; jobs stand in the order of ws, each in
// its own order of id rank, so ties in time go to the earlier workload. Where a user stands in several workloads, it is
// not the same user: then all users get that prefix, and so do tenants and groups, each where one of theirs clashes. The
// Report is the sum, with the Format that all share, if they do. Whatever is drawn by the names of jobs (Mix, Thin)
// should be drawn before.
func Merge(name string, ws ...Workload) Workload {
	merged := Workload{Name: name}
	names := [...]func(*Job) *string{
		func(j *Job) *string { return &j.User },
		func(j *Job) *string { return &j.Tenant },
		func(j *Job) *string { return &j.Group },
	}
	for k, w := range ws {
		from := len(merged.Jobs)
		merged.Jobs = append(merged.Jobs, w.Jobs...)
		jobs := merged.Jobs[from:]
		rebase(jobs)
		for i := range jobs {
			jobs[i].Name = prefixed(k, jobs[i].Name)
		}
		merged.Report = merged.Report.plus(w.Report, k == 0)
	}
	for _, of := range names {
		if !clash(ws, of) {
			continue
		}
		at := 0
		for k, w := range ws {
			for range w.Jobs {
				if s := of(&merged.Jobs[at]); *s != "" {
					*s = prefixed(k, *s)
				}
				at++
			}
		}
	}
	return merged
}

// prefixed tells a name of the k-th workload from the others'.
func prefixed(k int, s string) string { return strconv.Itoa(k) + "/" + s }

// clash reports whether a name stands in several workloads.
func clash(ws []Workload, of func(*Job) *string) bool {
	first := map[string]int{}
	for k, w := range ws {
		for i := range w.Jobs {
			s := *of(&w.Jobs[i])
			if at, ok := first[s]; ok && at != k && s != "" {
				return true
			}
			first[s] = k
		}
	}
	return false
}

// plus adds two reports; first says that r is none yet.
func (r Report) plus(other Report, first bool) Report {
	if first {
		r.Format = other.Format
	} else if r.Format != other.Format {
		r.Format = ""
	}
	r.Rows += other.Rows
	r.Jobs += other.Jobs
	r.CPUOnly += other.CPUOnly
	r.NeverScheduled += other.NeverScheduled
	r.Bad += other.Bad
	r.ClampedWork += other.ClampedWork
	r.ClampedWorkers += other.ClampedWorkers
	for _, e := range other.BadExamples {
		if len(r.BadExamples) < maxBadExamples {
			r.BadExamples = append(r.BadExamples, e)
		}
	}
	return r
}
