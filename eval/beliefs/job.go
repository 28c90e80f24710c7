package beliefs

import (
	"fmt"
	"math"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// Job is what is known and believed of one job.
type Job struct {
	Job       string    `json:"job"`
	User      string    `json:"user"`
	Model     string    `json:"model,omitempty"` // as far as its scheduler is told
	Group     string    `json:"group,omitempty"`
	State     string    `json:"state"` // waits, runs or ended
	Workers   int32     `json:"workers"`
	GPUMilli  int32     `json:"gpu_milli"` // per worker, as the next two
	CPUMilli  int32     `json:"cpu_milli"`
	MemMiB    int32     `json:"mem_mib"`
	GPUType   string    `json:"gpu_type,omitempty"` // acceptable types
	Submitted float64   `json:"submit_s"`
	Ran       float64   `json:"ran_s"`          // so far
	Left      *Left     `json:"left,omitempty"` // unless it ended
	Readings  []Reading `json:"readings"`
	Speeds    []Speed   `json:"speeds"` // in configurations that it could have
	spec      *cluster.JobSpec
	id        cluster.JobID
}

// Reading is a measured throughput of a job and what is believed of its speed in that configuration.
type Reading struct {
	At         float64 `json:"at_s"`
	Throughput float64 `json:"throughput"`
	Speed
}

// Now returns the instant.
func (b *Beliefs) Now() time.Duration { return b.state.Now() }

// Names returns the names of the submitted jobs.
func (b *Beliefs) Names() (names []string) {
	for _, id := range b.submitted("") {
		names = append(names, b.state.Spec(id).Name)
	}
	return names
}

// UserNames returns the names of the users of submitted jobs, in the order of their first jobs.
func (b *Beliefs) UserNames() (names []string) {
	if b.saved != nil {
		return b.saved.users()
	}
	seen := map[string]bool{"": true}
	for _, id := range b.submitted("") {
		if user := b.state.Spec(id).Owner(); !seen[user] {
			seen[user] = true
			names = append(names, user)
		}
	}
	return names
}

// Job returns what is known and believed of the submitted job with a name; ok is false if there is none.
func (b *Beliefs) Job(name string) (j Job, ok bool) {
	for _, id := range b.submitted("") {
		if spec := b.state.Spec(id); spec.Name == name {
			return b.job(id, spec), true
		}
	}
	return j, false
}

func (b *Beliefs) job(id cluster.JobID, spec *cluster.JobSpec) Job {
	r := &spec.Request
	j := Job{
		Job: spec.Name, User: spec.Owner(), Model: spec.Model, Group: spec.Group, Workers: spec.Workers, GPUMilli: r.GPUMilli,
		CPUMilli: r.CPUMilli, MemMiB: r.MemMiB, GPUType: spec.GPUType, Submitted: spec.Submit.Seconds(),
		Ran: b.state.Age(id).Seconds(), Speeds: b.Speeds(spec), Readings: []Reading{}, spec: spec, id: id,
	}
	switch b.state.Phase(id) {
	case cluster.Running:
		j.State, j.Left = "runs", b.left(id)
	case cluster.Pending:
		j.State, j.Left = "waits", b.left(id)
	default:
		j.State = "ended"
	}
	for _, read := range b.state.Readings(id) {
		c := &read.Configuration
		j.Readings = append(j.Readings, Reading{read.At.Seconds(), read.Speed, b.speed(spec, describe(c), c)})
	}
	return j
}

// describe returns a configuration as text.
func describe(c *cluster.Configuration) string {
	text := fmt.Sprintf("%d x %s", c.Workers, Cores(c.CPUMilli))
	if c.GPUMilli != cluster.WholeGPU {
		text += fmt.Sprintf(", %g of a GPU", float64(c.GPUMilli)/cluster.WholeGPU)
	}
	if c.GPUType != "" {
		text += " on " + c.GPUType
	}
	if c.Servers > 1 {
		text += fmt.Sprintf(", %d servers", c.Servers)
	}
	if c.Racks > 1 {
		text += fmt.Sprintf(" in %d racks", c.Racks)
	}
	if c.Shared {
		text += ", shared"
	}
	return text
}

// Band is what is believed of the speed of a job against the CPU of each worker, all else being as requested, and what was
// measured. CPU is in cores.
type Band struct {
	Request         float64   // the requested CPU
	X               []float64 // CPU, ascending
	Mean, Low, High []float64 // at each of X
	PointX, PointY  []float64 // readings: CPU and speed
}

// JobBand returns the band of a job with its readings.
func (b *Beliefs) JobBand(j *Job, n int) Band { return b.band(j.spec, []cluster.JobID{j.id}, 1, n) }

// TypicalBand returns the band of the typical job of a user, or of all jobs if the user is "". Its points are the readings of
// those of these jobs that have at least two.
func (b *Beliefs) TypicalBand(user string, n int) Band {
	spec := b.Typical(user)
	return b.band(&spec, b.submitted(user), 2, n)
}

// band returns a band with n points on its curve and one for each reading of the jobs with at least the given number of readings.
// The unit of throughput is not known: the readings of a job are multiplied by one factor, with which they are as believed on
// average. Each is corrected by what is believed of everything but CPU.
func (b *Beliefs) band(spec *cluster.JobSpec, jobs []cluster.JobID, least, n int) Band {
	const fewest = 0.25 // cores
	as := b.requested(spec, spec.Workers)
	request := max(float64(as.CPUMilli)/1000, 2*fewest)
	band := Band{Request: request}
	most := 2 * request
	for _, id := range jobs {
		all := b.state.Readings(id)
		if len(all) < least {
			continue
		}
		var miss []float64
		mean := 0.0
		for i := range all {
			c := all[i].Configuration
			c.MemMiB = max(c.MemMiB, spec.Request.MemMiB)
			believed, _ := b.speeds.Of(&b.state.View, spec, &c)
			miss = append(miss, math.Log(all[i].Speed)-believed)
			mean += miss[i] / float64(len(all))
		}
		for i := range all {
			c := as
			c.CPUMilli = all[i].CPUMilli
			believed, _ := b.speeds.Of(&b.state.View, spec, &c)
			cores := float64(c.CPUMilli) / 1000
			most = max(most, cores)
			band.PointX = append(band.PointX, cores)
			band.PointY = append(band.PointY, math.Exp(believed+miss[i]-mean))
		}
	}
	for i := range n {
		c := as
		c.CPUMilli = int32(1000 * geometric(fewest, most, float64(i)/float64(n-1)))
		s := b.speed(spec, "", &c)
		band.X = append(band.X, float64(c.CPUMilli)/1000)
		band.Mean, band.Low, band.High = append(band.Mean, s.Speed), append(band.Low, s.Low), append(band.High, s.High)
	}
	return band
}

// RunTimeOf returns what is believed of the run time of a new job with the user and the workers of a job.
func (b *Beliefs) RunTimeOf(j *Job) RunTime { return runTime(b.times, j.User, j.Workers, 0) }
