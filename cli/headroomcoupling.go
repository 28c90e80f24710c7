package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/eval/headroom"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
)

// couplingOptions are the flags of headroom --coupling.
type couplingOptions struct {
	points  int
	choices int
	futures int
	base    string
}

func (o *couplingOptions) add(f *pflag.FlagSet) {
	f.IntVar(&o.points, "coupling", 0,
		"measure coupling instead, at up to this many decision points of each window, drawn at random; 0 measures headroom")
	f.IntVar(&o.choices, "choices", 8,
		"coupling: the number of candidates at a decision point, the best by themselves, of which all pairs are played")
	f.IntVar(&o.futures, "futures", 2,
		"coupling: the number of futures to play, the true one and others; besides them one without later jobs")
	f.StringVar(&o.base, "base", "srsf"+baselines.MenuSuffix, "coupling: the policy that plays before and after the candidates")
}

func (o *couplingOptions) validate() error {
	if o.points < 0 || o.points > 10_000 || o.choices < 2 || o.choices > 64 || o.futures < 1 || o.futures > 1000 {
		return cmdline.Usage("--coupling %d, --choices %d, --futures %d: want 0 to 10000, 2 to 64 and 1 to 1000",
			o.points, o.choices, o.futures)
	}
	return nil
}

// runCoupling measures the coupling of candidates on every scenario.
func runCoupling(ctx context.Context, a *app, opts headroomOptions, given func(flag string) bool) error {
	if opts.pool.used() {
		return cmdline.Usage("--coupling: this process measures it without workers")
	}
	if err := opts.validate(); err != nil {
		return err
	}
	var plans []headroom.CouplingPlan
	for _, name := range opts.scenarios {
		g, err := opts.open(name)
		if err != nil {
			return err
		}
		base := opts.coupling.base
		if !given("base") && !strings.HasSuffix(base, g.suffix) {
			base += g.suffix
		}
		p, err := a.fitter().Load(base)
		if err != nil {
			return fmt.Errorf("--base: %w", err)
		}
		plans = append(plans, headroom.CouplingPlan{
			Suite: g.suite.Suite, Base: *p, Points: opts.coupling.points, Candidates: opts.coupling.choices,
			Futures: opts.coupling.futures, Workers: opts.cores,
		})
	}
	var reports []*headroom.CouplingReport
	for _, p := range plans {
		a.Say("%s: %d windows of %s, %d decision points each at most, under %s",
			p.Suite.Scenario, len(p.Suite.Windows), opts.split, p.Points, p.Base.Name)
		r, err := measureCoupling(ctx, a, p)
		if err != nil {
			return err
		}
		reports = append(reports, r)
	}
	switch {
	case a.JSON && len(reports) == 1:
		return a.PrintJSON(reports[0])
	case a.JSON:
		return a.PrintJSON(reports)
	}
	return headroom.WriteCoupling(a.Out, reports)
}

// measureCoupling measures one scenario and shows its progress.
func measureCoupling(ctx context.Context, a *app, p headroom.CouplingPlan) (*headroom.CouplingReport, error) {
	cases := len(p.Suite.Windows) * len(p.Suite.Seeds)
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(cases * p.Episodes()), Label: "coupling", Unit: "episodes",
	})
	defer bar.Finish()
	p.Progress = func(done, _ int) { bar.Set(int64(done)) }
	p.Fitting = func(n, of int) { bar.Note(fitting(p.Suite.Scenario, n, of)) }
	r, err := headroom.MeasureCoupling(ctx, p)
	return r, unfit(err)
}
