package trace

import "strconv"

// Merge puts the jobs of several workloads on one clock. It shifts each workload so that its first job is submitted at 0. It
// copies the jobs and does not change ws.
//
// Merge makes ids unique by a prefix with the index of the workload in ws, as in "1/17". The result contains the workloads in the
// order of ws, each in its own id order, so jobs submitted at the same time are in that order, too. Equal user names in different
// workloads mean different users: if any user name occurs in several workloads, Merge adds the prefix to all user names, and
// likewise for tenants and groups. The Report is the sum of the reports; it keeps their Format if all have the same. Apply
// whatever draws by the names of jobs (Mix, Thin) before Merge, because Merge changes the names.
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

// prefixed returns a name of the k-th workload with its prefix.
func prefixed(k int, s string) string { return strconv.Itoa(k) + "/" + s }

// clash reports whether a name occurs in several workloads.
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

// plus adds two reports. With first, r is still empty and only takes over the Format.
func (r Report) plus(other Report, first bool) Report {
	if first {
		r.Format = other.Format
	} else if r.Format != other.Format {
		r.Format = ""
	}
	r.Rows += other.Rows
	r.Jobs += other.Jobs
	for _, c := range other.Left {
		r.Left = r.Left.add(c.What, c.Rows)
	}
	for _, c := range other.Notes {
		r.Notes = r.Notes.add(c.What, c.Rows)
	}
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
