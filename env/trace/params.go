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

// Params is a model of a workload, from which Generate draws jobs. Fit makes one out of traces.
type Params struct {
	Name      string          `yaml:"name"`   // of the workloads that Generate makes
	Source    string          `yaml:"source"` // the traces it was fitted to, with their licence
	Arrivals  ArrivalParams   `yaml:"arrivals"`
	Sizes     []SizeParams    `yaml:"sizes"`     // gang sizes, each with its share of the jobs
	Durations []DurationClass `yaml:"durations"` // by gang size, smallest first
	Users     UserParams      `yaml:"users"`
}

// ArrivalParams is a renewal process with gamma gaps, run on a clock that speeds up and slows down: by the hour of the day,
// and by a lognormal factor a day.
type ArrivalParams struct {
	PerDay    float64   `yaml:"per_day"`     // mean arrivals in 24 hours
	Hourly    []float64 `yaml:"hourly,flow"` // 24 relative rates; hour 0 starts at time 0
	DaySpread float64   `yaml:"day_spread"`  // standard deviation of the log of a day's factor
	CV        float64   `yaml:"cv"`          // of the gaps once hours and days are taken out: 1 is Poisson, above is bursty
}

// SizeParams is one shape of gang.
type SizeParams struct {
	Workers  int32   `yaml:"workers"`
	GPUMilli int32   `yaml:"gpu_milli"` // a worker
	CPUMilli int32   `yaml:"cpu_milli"` // a worker
	MemMiB   int32   `yaml:"mem_mib"`   // a worker
	Share    float64 `yaml:"share"`     // of the jobs; shares are relative to their sum
}

// DurationClass is how long gangs of a range of sizes run: above the class before, up to MaxWorkers.
type DurationClass struct {
	MaxWorkers int32       `yaml:"max_workers"`
	Mixture    []Lognormal `yaml:"mixture"`
	Max        float64     `yaml:"max"`            // seconds, no job runs longer
	Quantiles  []float64   `yaml:"quantiles,flow"` // seconds, at ClassQuantiles, of the traces: to compare with, not drawn from
	Passed     float64     `yaml:"passed"`         // share of jobs that end so; what the three leave is Unknown
	Failed     float64     `yaml:"failed"`
	Killed     float64     `yaml:"killed"`
}

// Lognormal is one part of a mixture: the logarithm of seconds is normal.
type Lognormal struct {
	Weight float64 `yaml:"weight"` // relative to the sum of the mixture's
	Mu     float64 `yaml:"mu"`     // mean of ln(seconds)
	Sigma  float64 `yaml:"sigma"`  // standard deviation of ln(seconds)
}

// UserParams says who submits. A job comes from the user of the job before with probability Sticky, else from the k-th user
// with probability proportional to k^-Zipf. It repeats one of the user's last few templates with probability Repeat: the
// same gang, and a duration that differs by a normal number of standard deviation Spread in its logarithm.
type UserParams struct {
	Count  int     `yaml:"count"`
	Zipf   float64 `yaml:"zipf"`
	Sticky float64 `yaml:"sticky"`
	Repeat float64 `yaml:"repeat"`
	Spread float64 `yaml:"spread"`
}

// ClassQuantiles are the probabilities at which DurationClass.Quantiles stand.
func ClassQuantiles() []float64 { return []float64{.01, .10, .25, .50, .75, .90, .99} }

//go:embed default.yaml
var defaultYAML []byte

//go:embed philly.yaml
var phillyYAML []byte

// Default returns the parameters that the package holds, fitted to the trace helios-venus-2020-06. Source names it.
func Default() Params { return mustParse(defaultYAML) }

// Philly returns parameters fitted to the dense days (48 to 58) of the trace philly-2017-allstatus. Source names it.
func Philly() Params { return mustParse(phillyYAML) }

// mustParse reads an embedded file, which a test has read before.
func mustParse(b []byte) Params {
	p, err := parseParams(b)
	if err != nil {
		panic("trace: embedded parameters: " + err.Error())
	}
	return p
}

// ReadParams reads a YAML file of parameters and validates it: unknown keys are errors.
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

// parseParams reads one YAML document of parameters and validates it. Unknown keys are errors.
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
	return p, p.validate()
}

// Write writes the parameters as YAML that ReadParams reads back.
func (p Params) Write(w io.Writer) error {
	e := yaml.NewEncoder(w)
	e.SetIndent(2)
	if err := e.Encode(p); err != nil {
		return fmt.Errorf("write generator parameters: %w", err)
	}
	return e.Close()
}

// validate reports the first field that no workload can be drawn from.
func (p Params) validate() error {
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

// load is the load that the parameters bring to a cluster of that many GPUs in expectation: GPU-time that arrives over
// GPU-time that passes. A short draw differs: durations are heavy-tailed. See Workload.Rescale for an exact load.
func (p Params) load(gpus int) float64 {
	var seconds, shares float64 // GPU-seconds a job
	for _, s := range p.Sizes {
		mean := p.class(s.Workers).mean()
		seconds += s.Share * mean * float64(s.Workers) * float64(s.GPUMilli) / cluster.WholeGPU
		shares += s.Share
	}
	day := (24 * time.Hour).Seconds()
	return seconds / shares * p.Arrivals.PerDay / (day * float64(gpus))
}

// WithLoad returns the parameters with the arrival rate at which Load(gpus) is load. Durations and gangs stay as they are.
func (p Params) WithLoad(load float64, gpus int) (Params, error) {
	if !(load > 0) || math.IsInf(load, 0) || gpus < 1 {
		return Params{}, fmt.Errorf("scale to load %v on %d GPUs: want both above 0", load, gpus)
	}
	p.Arrivals.PerDay *= load / p.load(gpus)
	return p, p.validate()
}

// class finds the durations of gangs of that size.
func (p Params) class(workers int32) *DurationClass {
	for i := range p.Durations {
		if workers <= p.Durations[i].MaxWorkers {
			return &p.Durations[i]
		}
	}
	return &p.Durations[len(p.Durations)-1]
}
