package cli

import (
	"fmt"

	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval/beliefs"
	"github.com/clustergym/clustergym/internal/phrase"
)

// askedAll is the result of beliefs without --job.
type askedAll struct {
	Policy   string                `json:"policy"` // "" if beliefs are shown that were saved
	At       float64               `json:"at_s"`
	Ended    int                   `json:"ended"`    // jobs
	Measured bool                  `json:"measured"` // the log's scenario measures throughputs
	Readings int64                 `json:"readings"` // learned from
	RunTimes []beliefs.RunTime     `json:"run_times"`
	Request  beliefs.Configuration `json:"request"` // of the job with the speeds
	Speeds   []beliefs.Speed       `json:"speeds"`
}

// askedJob is the result of beliefs --job.
type askedJob struct {
	Policy   string  `json:"policy"`
	At       float64 `json:"at_s"`
	Measured bool    `json:"measured"`
	beliefs.Job
}

// printBeliefs prints tables below a headline.
func printBeliefs(a *app, headline, policy string, b *beliefs.Beliefs, opts *askOptions) error {
	everyone := b.Everyone()
	rest := b.Users(opts.top)
	if opts.user != "" {
		rest = b.Each(opts.user)
	}
	spec := b.Typical(opts.user)
	speeds := b.Speeds(&spec)
	out := askedAll{
		policy, b.Now().Seconds(), everyone.Ended, b.Measured(), b.Readings(), append([]beliefs.RunTime{everyone}, rest...),
		speeds[0].Configuration, speeds,
	}
	if a.JSON {
		return a.PrintJSON(out)
	}
	a.Printf("%s\n\n", headline)
	rows := [][]string{{"run time of a new job", "ended", "counts", "10 %", "50 %", "90 %"}}
	for i := range out.RunTimes {
		r := &out.RunTimes[i]
		ended := fmt.Sprint(r.Ended)
		if policy == "" && i > 0 {
			ended = "" // it was not saved
		}
		rows = append(rows, []string{userAndSize(r), ended, fmt.Sprintf("%.1f", r.Counts), phrase.Seconds(r.Low),
			phrase.Seconds(r.Median), phrase.Seconds(r.High)})
	}
	if err := a.PrintRows(rows); err != nil {
		return err
	}
	whose := "a job of " + opts.user
	if opts.user == "" {
		whose = "any job"
	}
	a.Printf("\nspeed of %s, learned from %s\n", whose, phrase.Count(b.Readings(), "reading"))
	return printSpeeds(a, b, fmt.Sprintf("%d x %s", spec.Workers, beliefs.Cores(spec.Request.CPUMilli)), speeds)
}

// userAndSize says for which jobs a run time is believed.
func userAndSize(r *beliefs.RunTime) string {
	if r.User == "" {
		return "all jobs"
	}
	return fmt.Sprintf("%s (%s)", r.User, phrase.Count(r.Workers, "worker"))
}

// printSpeeds prints a note if nothing was measured, and a table.
func printSpeeds(a *app, b *beliefs.Beliefs, request string, speeds []beliefs.Speed) error {
	switch {
	case !b.Measured():
		a.Printf("the log has no readings, because its scenario measures no throughput (readings.interval): this was believed before\n")
	case b.Readings() == 0:
		a.Printf("nothing was measured by then: this was believed before\n")
	}
	rows := [][]string{{request, "speed", "80 % interval"}}
	for i := range speeds {
		rows = append(rows, append([]string{speeds[i].What}, speedCells(&speeds[i])...))
	}
	return a.PrintRows(rows)
}

func speedCells(s *beliefs.Speed) []string {
	return []string{fmt.Sprintf("%.2f", s.Speed), fmt.Sprintf("%.2f to %.2f", s.Low, s.High)}
}

func printJobBeliefs(a *app, log *sim.Log, b *beliefs.Beliefs, j *beliefs.Job) error {
	if a.JSON {
		return a.PrintJSON(askedJob{log.Scheduler, b.Now().Seconds(), b.Measured(), *j})
	}
	a.Printf("%s at %s: what a scheduler that is told nothing believes of job %s\n\n", log.Scheduler, phrase.Time(b.Now()), j.Job)
	rows := [][]string{{"user", j.User}, {"model", j.Model}, {"group", j.Group}, {"GPU types", j.GPUType}}
	rows = append(rows, []string{"requests", fmt.Sprintf("%s of %s, %s, %d MiB", phrase.Count(j.Workers, "worker"),
		gpuShare(j.GPUMilli), beliefs.Cores(j.CPUMilli), j.MemMiB)})
	ran := "ran " + phrase.Seconds(j.Ran)
	if j.State == "runs" || j.State == "waits" {
		ran = fmt.Sprintf("%s, has run for %s", j.State, phrase.Seconds(j.Ran))
	}
	rows = append(rows, []string{"state", ran})
	if l := j.Left; l != nil {
		rows = append(rows, []string{"time left", fmt.Sprintf("mean %s, median %s, Gittins rank %s, 80 %% interval %s to %s",
			phrase.Seconds(l.Mean), phrase.Seconds(l.Median), phrase.Seconds(l.Gittins), phrase.Seconds(l.Low), phrase.Seconds(l.High))})
	}
	var known [][]string
	for _, r := range rows {
		if r[1] != "" {
			known = append(known, r)
		}
	}
	if err := a.PrintRows(known); err != nil {
		return err
	}
	if len(j.Readings) > 0 {
		rows = [][]string{{"\nmeasured at", "with", "throughput", "believed speed", "80 % interval"}}
		for i := range j.Readings {
			r := &j.Readings[i]
			rows = append(rows, append([]string{phrase.Seconds(r.At), r.What, fmt.Sprintf("%.4g", r.Throughput)}, speedCells(&r.Speed)...))
		}
		if err := a.PrintRows(rows); err != nil {
			return err
		}
	} else if b.Measured() {
		a.Printf("\nthe job has no readings by then\n")
	}
	a.Printf("\nspeed where it could run, learned from %s of all jobs\n", phrase.Count(b.Readings(), "reading"))
	return printSpeeds(a, b, "configuration", j.Speeds)
}

func gpuShare(milli int32) string {
	if milli == 1000 {
		return "1 GPU"
	}
	return fmt.Sprintf("%g of a GPU", float64(milli)/1000)
}
