package trace

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
	"go.yaml.in/yaml/v3"
)

// Params is a model of a workload, from which Generate draws jobs. A study fits it to traces.
type Params struct {
	Name      string          `yaml:"name"`   // the name of the generated workloads
	Source    string          `yaml:"source"` // the traces to which it was fitted, with their licence
	Arrivals  ArrivalParams   `yaml:"arrivals"`
	Sizes     []SizeParams    `yaml:"sizes"`     // gang sizes, each with its fraction of the jobs
	Durations []DurationClass `yaml:"durations"` // by gang size, smallest first
	Users     UserParams      `yaml:"users"`
}

// ArrivalParams describes a renewal process with gamma-distributed gaps on a clock whose speed varies by the hour of the day and
// by a lognormal factor per day.
type ArrivalParams struct {
	PerDay    float64   `yaml:"per_day"`     // mean arrivals in 24 hours
	Hourly    []float64 `yaml:"hourly,flow"` // 24 relative rates; hour 0 starts at time 0
	DaySpread float64   `yaml:"day_spread"`  // standard deviation of the log of a day's factor
	CV        float64   `yaml:"cv"`          // of the gaps without the effect of hours and days; 1 is Poisson, above 1 bursty
}

// SizeParams is one gang size with the request of its workers.
type SizeParams struct {
	Workers  int32   `yaml:"workers"`
	GPUMilli int32   `yaml:"gpu_milli"` // per worker
	CPUMilli int32   `yaml:"cpu_milli"` // per worker
	MemMiB   int32   `yaml:"mem_mib"`   // per worker
	Share    float64 `yaml:"share"`     // of the jobs, relative to the sum of all shares
}

// DurationClass describes how long gangs run whose size is above the previous class and at most MaxWorkers.
type DurationClass struct {
	MaxWorkers int32       `yaml:"max_workers"`
	Mixture    []Lognormal `yaml:"mixture"`
	Max        float64     `yaml:"max"`            // seconds; no job runs longer
	Quantiles  []float64   `yaml:"quantiles,flow"` // seconds at ClassQuantiles in the traces, for comparison only
	Passed     float64     `yaml:"passed"`         // fraction of jobs that end so; the remaining jobs are Unknown
	Failed     float64     `yaml:"failed"`
	Killed     float64     `yaml:"killed"`
}

// Lognormal is one part of a mixture; the logarithm of the duration in seconds is normal.
type Lognormal struct {
	Weight float64 `yaml:"weight"` // relative to the sum of the weights of the mixture
	Mu     float64 `yaml:"mu"`     // mean of ln(seconds)
	Sigma  float64 `yaml:"sigma"`  // standard deviation of ln(seconds)
}

// UserParams describes how users submit jobs. With probability Sticky, a job has the same user as the previous job; otherwise its
// user is the k-th with probability proportional to k^-Zipf. With probability Repeat the job repeats one of the user's last few
// templates: the same gang, and a duration whose logarithm differs by a normal number with standard deviation Spread.
type UserParams struct {
	Count  int     `yaml:"count"`
	Zipf   float64 `yaml:"zipf"`
	Sticky float64 `yaml:"sticky"`
	Repeat float64 `yaml:"repeat"`
	Spread float64 `yaml:"spread"`
}

// ClassQuantiles returns the probabilities of DurationClass.Quantiles.
func ClassQuantiles() []float64 { return []float64{.01, .10, .25, .50, .75, .90, .99} }

//go:embed default.yaml
var defaultYAML []byte

//go:embed philly.yaml
var phillyYAML []byte

// Default returns the embedded default parameters, fitted to the trace helios-venus-2020-06. Its Source names the trace.
func Default() Params { return mustParse(defaultYAML) }

// Philly returns parameters fitted to the dense days (48 to 58) of the trace philly-2017-allstatus. Its Source names the trace.
func Philly() Params { return mustParse(phillyYAML) }

// mustParse parses an embedded file and panics on errors; a test checks that there are none.
func mustParse(b []byte) Params {
	p, err := parseParams(b)
	if err != nil {
		panic("trace: embedded parameters: " + err.Error())
	}
	return p
}

// ReadParams reads and validates a YAML file of parameters. Unknown keys are errors.
func ReadParams(path string) (Params, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Params{}, fmt.Errorf("read generator parameters: %w", err)
	}
	p, err := parseParams(b)
	if err != nil {
		return Params{}, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// parseParams parses and validates one YAML document of parameters. Unknown keys are errors.
func parseParams(b []byte) (Params, error) {
	var p Params
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(&p); err != nil {
		return Params{}, fmt.Errorf("parse generator parameters: %w", err)
	}
	if err := d.Decode(new(any)); !errors.Is(err, io.EOF) {
		return Params{}, errors.New("parse generator parameters: a second document follows, want one")
	}
	return p, p.Validate()
}

// Write writes the parameters as YAML for ReadParams.
func (p Params) Write(w io.Writer) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(p); err != nil {
		return fmt.Errorf("write generator parameters: %w", err)
	}
	return e.Close()
}

// Validate returns an error about the first field from which no workload can be drawn.
func (p Params) Validate() error {
	bad := func(field string, value any, want string) error {
		return fmt.Errorf("generator parameters: %s is %v, want %s", field, value, want)
	}
	within := func(x, lo, hi float64) bool { return x >= lo && x <= hi } // false for NaN
	if !names.OK(p.Name) {
		return bad("name", strconv.Quote(p.Name), "at most 256 bytes of printable UTF-8")
	}
	a := p.Arrivals
	if !within(a.PerDay, 1e-3, 1e9) {
		return bad("arrivals.per_day", a.PerDay, "0.001 to 1e9")
	}
	if len(a.Hourly) != 24 {
		return bad("arrivals.hourly", a.Hourly, "24 rates")
	}
	for i, r := range a.Hourly {
		if !within(r, 1e-3, 1e3) {
			return bad(fmt.Sprintf("arrivals.hourly[%d]", i), r, "0.001 to 1000")
		}
	}
	if !within(a.DaySpread, 0, 3) {
		return bad("arrivals.day_spread", a.DaySpread, "0 to 3")
	}
	if !within(a.CV, .05, 20) {
		return bad("arrivals.cv", a.CV, "0.05 to 20")
	}
	if len(p.Sizes) == 0 || len(p.Durations) == 0 {
		return bad("sizes or durations", "empty", "at least one of each")
	}
	for i, d := range p.Durations {
		at := fmt.Sprintf("durations[%d].", i)
		if d.MaxWorkers < 1 || i > 0 && d.MaxWorkers <= p.Durations[i-1].MaxWorkers {
			return bad(at+"max_workers", d.MaxWorkers, "at least 1 and more than the class before")
		}
		if len(d.Mixture) == 0 {
			return bad(at+"mixture", "empty", "at least one part")
		}
		for k, m := range d.Mixture {
			if !within(m.Weight, 1e-6, 1e6) || !within(m.Mu, -10, 22) || !within(m.Sigma, .01, 10) {
				return bad(fmt.Sprintf("%smixture[%d]", at, k), m, "weight 1e-6 to 1e6, mu -10 to 22, sigma 0.01 to 10")
			}
		}
		if !within(d.Max, 1, maxTime.Seconds()) {
			return bad(at+"max", d.Max, "1 to 100 years of seconds")
		}
		if !within(d.Passed, 0, 1) || !within(d.Failed, 0, 1) || !within(d.Killed, 0, 1) ||
			d.Passed+d.Failed+d.Killed > 1+1e-3 {
			return bad(at+"passed, failed, killed", [...]float64{d.Passed, d.Failed, d.Killed}, "shares whose sum is at most 1")
		}
	}
	largest := p.Durations[len(p.Durations)-1].MaxWorkers
	for i, s := range p.Sizes {
		at := fmt.Sprintf("sizes[%d].", i)
		switch {
		case s.Workers < 1 || s.Workers > min(largest, maxWorkers):
			return bad(at+"workers", s.Workers, fmt.Sprintf("1 to the largest duration class, %d", largest))
		case s.GPUMilli < 1 || s.GPUMilli > cluster.WholeGPU:
			return bad(at+"gpu_milli", s.GPUMilli, "1 to 1000")
		case s.CPUMilli < 0 || s.CPUMilli > maxMilli || s.MemMiB < 0 || s.MemMiB > maxMilli:
			return bad(at+"cpu_milli, mem_mib", [...]int32{s.CPUMilli, s.MemMiB}, "0 or more")
		case !within(s.Share, 1e-9, 1e6):
			return bad(at+"share", s.Share, "1e-9 to 1e6")
		}
	}
	u := p.Users
	switch {
	case u.Count < 1 || u.Count > 1_000_000:
		return bad("users.count", u.Count, "1 to 1000000")
	case !within(u.Zipf, 0, 5):
		return bad("users.zipf", u.Zipf, "0 to 5")
	case !within(u.Sticky, 0, .999):
		return bad("users.sticky", u.Sticky, "0 to 0.999")
	case !within(u.Repeat, 0, .999):
		return bad("users.repeat", u.Repeat, "0 to 0.999")
	case !within(u.Spread, 0, 2):
		return bad("users.spread", u.Spread, "0 to 2")
	}
	return nil
}

// load returns the expected load of the parameters on a cluster with the given number of GPUs: GPU-time that arrives, divided by
// GPU-time that passes. The load of a short draw differs, because durations are heavy-tailed. Workload.Rescale gives an exact
// load.
func (p Params) load(gpus int) float64 {
	var seconds, shares float64 // GPU-seconds per job
	for _, s := range p.Sizes {
		mean := p.class(s.Workers).mean()
		seconds += s.Share * mean * float64(s.Workers) * float64(s.GPUMilli) / cluster.WholeGPU
		shares += s.Share
	}
	day := (24 * time.Hour).Seconds()
	return seconds / shares * p.Arrivals.PerDay / (day * float64(gpus))
}

// WithLoad returns the parameters with the arrival rate scaled to the expected load. It does not change durations and gangs.
func (p Params) WithLoad(load float64, gpus int) (Params, error) {
	if !(load > 0) || math.IsInf(load, 0) || gpus < 1 {
		return Params{}, fmt.Errorf("scale to load %v on %d GPUs: want both above 0", load, gpus)
	}
	p.Arrivals.PerDay *= load / p.load(gpus)
	return p, p.Validate()
}

// class returns the duration class of gangs with the given number of workers.
func (p Params) class(workers int32) *DurationClass {
	for i := range p.Durations {
		if workers <= p.Durations[i].MaxWorkers {
			return &p.Durations[i]
		}
	}
	return &p.Durations[len(p.Durations)-1]
}
