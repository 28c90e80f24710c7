package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/cli"
	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/trace"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/progress"
	"github.com/clustergym/clustergym/studies/headroom"
)

// lookAhead is the policy that simulates each candidate before it decides.
const lookAhead = "rollout"

// widest is the upper limit of --wider.
const widest = 100

type headroomOptions struct {
	scenarios []string
	sets      []string
	rivals    []string
	menu      []string
	prior     string
	ahead     []string
	seeds     int
	split     string
	windows   int
	effort    int
	wider     int
	overlap   bool
	cores     int
	lines     bool
	objective string
}

func newHeadroomCmd(a *cmdline.App) *cobra.Command {
	var opts headroomOptions
	cmd := &cobra.Command{
		Use:   "headroom --scenario S,...",
		Short: "Estimate how much any policy could still gain on a scenario",
		Long: cmdline.Long(`
Compares over the same windows: the best rival that gives jobs exactly what they ask for; the best rival that chooses
amounts, shares and workers (+menu); a tuned prior; a look-ahead policy; a search that knows the true future, which nobody
can deploy; and a bound below which no scheduler can go. Then it reports whether learning can pay there. Differences are
paired, with 95 % intervals over windows. If the scenario does not tell true run times or speeds, the best rival also plays as
if it were told them: that is what knowing them is worth.

The search begins with the best rival of each window and never ends worse. Its result is an achieved value: more --effort may
find more. Its alternatives are the candidates of the wide lists that learned policies choose from. A second search measures
what such a list misses: it draws every other candidate from what only a list --wider times as long contains. Both searches
begin with the same policy and play as many episodes, so the second plays fewer candidates of the usual list and may end
worse. A difference whose interval lies below 0 means that the usual list lacks something. More --effort and --windows make
it more certain.

With --objective all of this is about the cost by an objective (see clustergym objective ls), except the bound: none is known.

The bounds are strict, but loose under overload. studies/headroom.md explains how to read them. --map prints one line per
scenario.

Rivals are policies as in clustergym eval, which are also fitted as there (predictor=fitted). The default rivals borrow servers
if a scenario has an inference pool, and learn run times and speeds by themselves (+know:speed=fit) if it tells no speeds.
Rivals that fail, for example because estimates are missing that they need, are left out with a note. The command refuses
rivals that were trained or selected on jobs of the windows, unless --allow-overlap is given. Equal command lines print equal
results.`,
			cmdline.CodeMismatch),
		Example: `  clustergym-studies headroom --scenario embedded-physics-v1
  clustergym-studies headroom --scenario venus-load110-strong-rigid-v1 --windows 4 --effort 100
  clustergym-studies headroom --scenario venus-load090-weak-moldable-v1,philly-load150-strong-rigid-v1 --map
  clustergym-studies headroom --scenario embedded-small-v1 --rivals sjfskip,srtf --menu-rivals mine=runs/mine --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runHeadroom(cmd.Context(), a, opts, cmd.Flags().Changed)
		},
	}
	f := cmd.Flags()
	f.StringSliceVarP(&opts.scenarios, "scenario", "s", nil, "built-in scenarios, see scenario ls, or YAML files, commas between")
	f.StringArrayVar(&opts.sets, "set", nil, "change the scenarios: key=value, such as cluster.servers=16; repeatable")
	f.StringSliceVar(&opts.rivals, "rivals", fixedRivals(),
		"rivals that give jobs exactly what they ask for")
	f.StringSliceVar(&opts.menu, "menu-rivals", menuRivals(),
		"rivals that choose amounts, GPU shares or workers")
	f.StringVar(&opts.prior, "prior", "", "the base policy of a learned team, such as prior; if empty, the row is left out")
	f.StringSliceVar(&opts.ahead, "look-ahead", []string{lookAhead, lookAhead + baselines.MenuSuffix},
		"policies that simulate futures before they decide; the search does not begin with them")
	f.StringVar(&opts.objective, "objective", "", "what to measure and search by: a name or a YAML file; the mean JCT without")
	f.IntVar(&opts.seeds, "seeds", 1, "run every window with the seeds 1 to n, 0 for the scenario's own seeds")
	f.StringVar(&opts.split, "split", string(scenario.Test), "split whose windows are played: train, validation or test")
	f.IntVar(&opts.windows, "windows", 8,
		"how many windows of each scenario to play, spread evenly over the split; 0, or more than there are, for all")
	f.IntVar(&opts.effort, "effort", 200, "how many episodes the search simulates per window")
	f.IntVar(&opts.wider, "wider", 10,
		"run a second search, with half of --effort, that draws from this many times as many candidates; 0 for none")
	f.BoolVar(&opts.overlap, "allow-overlap", false, "also play rivals on jobs that they were trained or selected on")
	f.IntVar(&opts.cores, "cores", 0, "how many windows to process at once, 0 for one per core; does not change the results")
	f.BoolVar(&opts.lines, "map", false, "print one line per scenario")
	cmdline.Require(cmd, "scenario")
	cmdline.CompleteList(cmd, "scenario", scenario.All)
	cmdline.Complete(cmd, "objective", objectives.Names)
	for _, flag := range []string{"rivals", "menu-rivals", "look-ahead"} {
		cmdline.CompleteList(cmd, flag, finder().Names)
	}
	cmdline.Complete(cmd, "prior", finder().Names)
	cmdline.Complete(cmd, "split", flags.Splits)
	return cmd
}

// fixedRivals returns the policies with fixed job sizes: queue orders with the usual placement, and the best of them with a
// placement that keeps gangs together.
func fixedRivals() []string {
	const compact = ":place=compact"
	return []string{
		"fjf", "sjfskip", "sjfhold", "srtf", "srsf", "las", "gittins", "a-srpt", "fgd",
		"sjfskip" + compact, "sjfhold" + compact, "srtf" + compact, "srsf" + compact, "las" + compact,
	}
}

// menuRivals returns the policies that may choose job sizes: queue orders with the whole placement menu, and policies that use
// part of it.
func menuRivals() []string {
	return []string{
		"sjfskip+menu", "sjfhold+menu", "srtf+menu", "srsf+menu", "srsf+menu+move", "las+menu", "gittins+menu", "lucid", "synergy",
		"lyra",
	}
}

func (o *headroomOptions) validate() error {
	if err := cmdline.OneOf("split", o.split, flags.Splits()...); err != nil {
		return err
	}
	if o.seeds < 0 || o.windows < 0 || o.effort < 0 || o.cores < 0 {
		return cmdline.Usage("--seeds %d, --windows %d, --effort %d, --cores %d: want 0 or more",
			o.seeds, o.windows, o.effort, o.cores)
	}
	if o.wider < 0 || o.wider == 1 || o.wider > widest {
		return cmdline.Usage("--wider %d: want 0 for no second search, or 2 to %d", o.wider, widest)
	}
	if len(o.scenarios) == 0 || len(o.rivals)+len(o.menu) == 0 {
		return cmdline.Usage("--scenario, and --rivals or --menu-rivals: want at least one of each")
	}
	return nil
}

func runHeadroom(ctx context.Context, a *cmdline.App, opts headroomOptions, given func(flag string) bool) error {
	if err := opts.validate(); err != nil {
		return err
	}
	var plans []headroom.Plan
	for _, name := range opts.scenarios {
		p, err := opts.plan(a, name, given)
		if err != nil {
			return err
		}
		plans = append(plans, p)
	}
	var err error
	var reports []*headroom.Report
	for i, p := range plans {
		a.Say("%s: %d windows of %s, %d rivals, effort %d", p.Suite.Scenario, len(p.Suite.Windows), opts.split, len(p.Rivals), p.Effort)
		r, failed := measureHeadroom(ctx, a, p)
		if err = failed; err != nil {
			break // what was measured before is printed
		}
		if opts.prior == "" {
			r.Notes = append(r.Notes, "The prior of a learned team is left out; --prior prior adds it.")
		}
		reports = append(reports, r)
		if !opts.lines && !a.JSON {
			if i > 0 {
				a.Printf("\n\n")
			}
			if err := r.WriteText(a.Out); err != nil {
				return err
			}
		}
	}
	switch {
	case len(reports) == 0:
		return err
	case a.JSON && len(plans) == 1 && !opts.lines:
		return a.PrintJSON(reports[0])
	case a.JSON:
		return errors.Join(a.PrintJSON(reports), err)
	case opts.lines:
		return errors.Join(headroom.WriteMap(a.Out, reports), err)
	}
	return err
}

// measureHeadroom measures the headroom and shows its progress.
func measureHeadroom(ctx context.Context, a *cmdline.App, p headroom.Plan) (*headroom.Report, error) {
	cases := len(p.Suite.Windows) * len(p.Suite.Seeds)
	bar := progress.New(a.Talk, progress.Options{
		Quiet: a.Quiet, Total: int64(cases * p.Episodes()), Label: "headroom", Unit: "episodes",
	})
	defer bar.Finish()
	p.Progress = func(done, _ int) { bar.Set(int64(done)) }
	p.Fitting = func(n, of int) {
		if n < of {
			bar.Note(fmt.Sprintf("fit on the training split: %d of %d jobs", n, of))
		} else {
			bar.Note("")
		}
	}
	r, err := headroom.Measure(ctx, p)
	return r, unfit(err)
}

// plan opens one scenario and finds its rivals. The function given reports whether the user set a flag.
func (o *headroomOptions) plan(a *cmdline.App, name string, given func(flag string) bool) (headroom.Plan, error) {
	p := headroom.Plan{Effort: o.effort, Wider: o.wider, Overlap: o.overlap, Workers: o.cores}
	if o.objective != "" {
		by, err := objectives.Open(o.objective)
		if err != nil {
			return p, cmdline.Usage("--objective: %w", err)
		}
		p.Objective = by
	}
	s, err := (&flags.Scenario{Name: name, Sets: o.sets}).Load()
	if err != nil {
		return p, err
	}
	if p.Suite, err = o.open(s); err != nil {
		return p, err
	}
	p.Hidden = baselines.Truth{Times: s.Estimates.Kind != trace.Oracle, Speeds: s.Told.Speeds == scenario.Nothing}
	suffix := "" // of default policies
	switch {
	case p.Hidden.Speeds:
		suffix = baselines.KnowSuffix + ":speed=fit"
	case !s.Estimated():
		suffix = baselines.KnowSuffix
	}
	if s.Inference.Servers > 0 {
		suffix += baselines.LoanSuffix
	}
	if p.Rivals, err = o.findRivals(suffix, given); err != nil {
		return p, err
	}
	played := eval.Plan{Suites: []eval.Suite{p.Suite}, Overlap: o.overlap}
	for _, r := range p.Rivals {
		played.Policies = append(played.Policies, r.Policy)
	}
	if err := unfit(eval.CheckEstimates(played.Suites, played.Policies)); err != nil {
		return p, err
	}
	return p, cli.CheckOverlap(a, &played)
}

// open opens the windows that the flags select.
func (o *headroomOptions) open(s *scenario.Scenario) (eval.Suite, error) {
	src, err := s.Open()
	if err != nil {
		return eval.Suite{}, err
	}
	split := scenario.Split(o.split)
	suite, err := eval.NewSuite(src, split, spread(src.Count(split), o.windows))
	if o.seeds > 0 {
		suite.Seeds = nil
		for i := range o.seeds {
			suite.Seeds = append(suite.Seeds, uint64(i+1))
		}
	}
	return suite, err
}

// unfit makes the error about a policy that cannot play a scenario one of usage.
func unfit(err error) error {
	_, unestimated := errors.AsType[*eval.EstimatesError](err)
	if unestimated || errors.Is(err, eval.ErrNoPast) {
		return cmdline.Fail(cmdline.CodeUsage, err)
	}
	return err
}

// spread returns some of n windows, evenly spaced, or nil for all windows.
func spread(n, some int) []int {
	if some == 0 || some >= n {
		return nil
	}
	all := make([]int, some)
	for i := range all {
		all[i] = i * n / some
	}
	return all
}

// findRivals finds the policies in the flags. For a flag that the user did not set, it skips unknown policies, and adds the
// suffix to the others that do not have it.
func (o *headroomOptions) findRivals(suffix string, given func(flag string) bool) ([]headroom.Rival, error) {
	from := finder()
	from.Fits = true
	var rivals []headroom.Rival
	named := map[string]bool{}
	for _, list := range []struct {
		flag  string
		names []string
		group headroom.Group
	}{
		{"rivals", o.rivals, headroom.Fixed}, {"menu-rivals", o.menu, headroom.Menu},
		{"prior", []string{o.prior}, headroom.Prior}, {"look-ahead", o.ahead, headroom.LookAhead},
	} {
		for _, name := range list.names {
			if name == "" || !given(list.flag) && !from.Table.Known(name) {
				continue
			}
			if !given(list.flag) && !strings.HasSuffix(name, suffix) {
				name += suffix
			}
			p, err := from.Load(name)
			if err != nil {
				return nil, cmdline.Usage("--%s: %w", list.flag, err)
			}
			if named[p.Name] || slices.Contains(headroom.Reserved(), p.Name) {
				return nil, cmdline.Usage("--%s: two rows have the name %q: give one another, with name=%s", list.flag, p.Name, name)
			}
			named[p.Name] = true
			rivals = append(rivals, headroom.Rival{Policy: *p, Group: list.group})
		}
	}
	return rivals, nil
}
