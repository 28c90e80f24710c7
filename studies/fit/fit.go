// Package fit computes the coefficients of env/physics/profile from published measurements, and reports how well they fit.
// Simulations never run it. All its random numbers come from a fixed seed, so equal files give equal results.
package fit

import (
	"bufio"
	"fmt"
	"io"

	"github.com/clustergym/clustergym/env/physics/profile"
)

// Result contains the fitted coefficients and their residuals.
type Result struct {
	Coefficients *profile.Coefficients
	Pairs        []PairFit    // by GPU type, in the order of profile.MeasuredGPUs
	Memory       []MemoryFit  // in the same order
	Surfaces     []SurfaceFit // in the order of Synergy's models
	Scalings     []ScalingFit // in the order of Pollux's applications
}

// Run fits everything to the profiles in the folder dir. It must contain gavel/simulation_throughputs.json.gz and
// pollux/APPLICATION/{placements,scalability}.csv as their repositories publish them; Synergy's tables are part of the program.
// Run takes about ten seconds, most of it for the held-out pairs. Errors contain the file, the line or the key, the value and
// what was expected.
func Run(dir string) (Result, error) {
	r, gavel, err := fitAll(dir)
	if err != nil {
		return Result{}, fmt.Errorf("fit physics: %w", err)
	}
	for i := range r.Pairs {
		r.Pairs[i].HeldOut = holdOut(gavel[i])
	}
	return r, nil
}

// fitAll does the same as Run, without the held-out pairs.
func fitAll(dir string) (Result, [len(profile.MeasuredGPUs)]*gavel, error) {
	r := Result{Coefficients: &profile.Coefficients{
		Jobs: map[string]profile.Job{}, Surfaces: map[string]profile.Surface{}, Scalings: map[string]profile.Scaling{},
	}}
	gavel, err := openGavel(dir)
	if err != nil {
		return r, gavel, err
	}
	r.fitJobs(gavel)
	for i := range matrices {
		f := fitSurface(&matrices[i])
		r.Surfaces = append(r.Surfaces, f)
		r.Coefficients.Surfaces[f.Model] = f.Surface
	}
	for _, application := range applications {
		steps, err := openPollux(dir, application)
		if err != nil {
			return r, gavel, err
		}
		f := fitApplication(application, steps)
		r.Scalings = append(r.Scalings, f)
		r.Coefficients.Scalings[application] = f.Scaling
	}
	return r, gavel, nil
}

func (r *Result) fitJobs(gavel [len(profile.MeasuredGPUs)]*gavel) {
	mib, fits := fitMemory(gavel)
	r.Memory = fits
	jobs := make([]profile.Job, len(mib))
	for g, gpu := range profile.MeasuredGPUs {
		f, v := fitGPU(gpu, gavel[g])
		r.Pairs = append(r.Pairs, f)
		for i := range jobs {
			jobs[i].Rate[g] = gavel[g].Rate[i]
			jobs[i].S[g], jobs[i].P[g] = [2]float64(v.s[i]), [2]float64(v.p[i])
			jobs[i].GPUMemMiB = mib[i]
		}
	}
	for i, name := range gavel[0].Jobs {
		r.Coefficients.Jobs[name] = jobs[i]
	}
}

const provenance = `# Fitted coefficients of the physics. Written by: clustergym-studies physics fit. Do not edit: fit again.
# Residuals, assumptions and the forms behind the names: studies/physics-fit.md and the comments of env/physics/profile.
#
# gavel, memory: stanford-futuredata/gavel, commit c4fa40097339e9608ab71fd64c8bdea96a5e4a4c, MIT licence,
#   scheduler/simulation_throughputs.json. Rates are iterations per second alone on one GPU; s and p are fitted to speeds in
#   pairs; sizes are estimates in agreement with most pairs that fit or do not.
# synergy: msr-fiddle/synergy, commit 1b013c23727c0ab48d3b06fbab7e1a887d684d70, MIT licence, simulator/models/*_1.py.
# pollux: petuum/adaptdl, commit c793c7089bd307462686339d29707925c461f9a9, Apache-2.0 licence,
#   simulator/traces/*/{placements,scalability}.csv. Times are seconds.

`

// WriteCoefficients writes the file that env/physics/profile embeds. Equal results give equal bytes.
func (r *Result) WriteCoefficients(w io.Writer) error {
	b := bufio.NewWriter(w)
	b.WriteString(provenance)
	if err := profile.WriteCoefficients(b, r.Coefficients); err != nil {
		return fmt.Errorf("write coefficients: %w", err)
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write coefficients: %w", err)
	}
	return nil
}
