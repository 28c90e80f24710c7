package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/internal/cmdline"
)

func newPhysicsCmd(a *app) *cobra.Command {
	return newCommand(a, &none{}, &cobra.Command{
		Use:   "physics",
		Short: "List the parts of the performance model and the model families",
		Long: cmdline.Long(`
The performance model (physics) computes how fast a job runs where it is placed. docs/physics.md explains each part. The command
lists the parts from which a scenario's physics can be built. Join parts with "*"; "ideal" stands alone and contains none of
them.

Then it lists the model families: the memory that a worker needs on its GPU, its speed on GPU types other than the V100, its
throughput with one CPU core instead of its fair share of three, its speed when it shares a V100 with a job of the same
model, and how much faster eight workers on one server are than one.`),
		Example: "  clustergym physics",
	}, runPhysics)
}

// family is a family of models.
type family struct {
	Model   string  `json:"model"`
	GPUMem  int32   `json:"gpu_mem_mib"`
	P100    float64 `json:"speed_p100"`
	K80     float64 `json:"speed_k80"`
	OneCore float64 `json:"speed_one_core"`
	Beside  float64 `json:"speed_beside_itself"`
	Eight   float64 `json:"speedup_8"`
}

func runPhysics(_ context.Context, a *app, _ *none, _ []string) error {
	out := struct {
		Parts  []physics.Help `json:"parts"`
		Models []family       `json:"models"`
	}{Parts: physics.Parts()}
	parts := [][]string{{"part", "what it does"}}
	models := [][]string{{"model", "GPU MiB", "P100", "K80", "1 core", "beside itself", "8 workers"}}
	for _, p := range out.Parts {
		parts = append(parts, []string{p.Usage, p.About})
	}
	for _, name := range profile.Names() {
		f := profile.Lookup(name)
		l := family{Model: name, GPUMem: f.GPUMemMiB(1), OneCore: f.CPUMem(1, profile.FairMemGiB) / f.CPUMem(profile.FairCores,
			profile.FairMemGiB), Eight: f.Throughput(1, 8) / f.Throughput(1, 1)}
		l.P100, _ = f.GPUSpeed("P100")
		l.K80, _ = f.GPUSpeed("K80")
		s, p := f.Vectors("V100")
		l.Beside = profile.Beside(profile.Strong, s, p)
		out.Models = append(out.Models, l)
		row := []string{l.Model, fmt.Sprint(l.GPUMem)}
		for _, v := range []float64{l.P100, l.K80, l.OneCore, l.Beside, l.Eight} {
			row = append(row, fmt.Sprintf("%.2f", v))
		}
		models = append(models, row)
	}
	return a.Print(out, parts, models)
}
