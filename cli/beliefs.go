package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/cli/flags"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
	"github.com/clustergym/clustergym/serve/decide"
)

type beliefsOptions struct {
	From flags.Scenario // whose training split teaches; its name is "" for none
	Save string         `flag:"save" help:"write what was learned to this file"`
}

func newBeliefsCmd(a *app) *cobra.Command {
	return newCommand(a, &beliefsOptions{}, &cobra.Command{
		Use:   "beliefs [LOG...]",
		Short: "Write what policies with +know begin with",
		Long: cmdline.Long(`
Writes to a file what event logs teach a scheduler that is told nothing: how long jobs run, and how fast, from the measured
throughputs of scenarios with readings. serve, clustergym-kube, plan and whatif begin with it (--beliefs). serve and
clustergym-kube go on learning and write such files, too. With --scenario, the training split of the scenario comes before the
logs: it teaches what policies with seen=training know in eval. If the first argument is a file of beliefs, the logs add to it.

Without --save, the command says what is in such a file.`),
		Example: `  clustergym beliefs --scenario venus-load110-weak-moldable-warm-untold-v1 --save beliefs.json
  clustergym beliefs beliefs.json log.jsonl.gz --save more.json
  clustergym beliefs more.json`,
		Args: cobra.ArbitraryArgs,
	}, runBeliefs)
}

// beliefsResult is the result of beliefs.
type beliefsResult struct {
	File     string  `json:"file"`
	Ended    int64   `json:"ended"` // jobs
	Readings int64   `json:"readings"`
	Low      float64 `json:"p10_s"` // of the run time of a new job of which nothing is known
	Median   float64 `json:"p50_s"`
	High     float64 `json:"p90_s"`
}

func runBeliefs(ctx context.Context, a *app, opts *beliefsOptions, files []string) error {
	file := opts.Save
	switch {
	case file == "" && (len(files) != 1 || opts.From.Name != ""):
		return cmdline.Usage("%d files, --scenario %q: want one file of beliefs, or --save FILE", len(files), opts.From.Name)
	case file == "":
		file = files[0]
	case len(files) == 0 && opts.From.Name == "":
		return cmdline.Usage("--save %s: want logs or --scenario", file)
	default:
		release, err := decide.LockBeliefs(file)
		if err != nil {
			return err
		}
		defer release()
	}
	m, err := learned(ctx, a, opts, files)
	if err != nil {
		return err
	}
	if opts.Save != "" {
		if err := decide.WriteBeliefs(opts.Save, m); err != nil {
			return err
		}
	}
	new := m.Times(belief.Age, belief.Gittins).Of(&cluster.JobSpec{})
	q := func(q float64) float64 { return new.Quantile(0, q).Seconds() }
	r := beliefsResult{file, m.Ended(), m.Readings(), q(.1), q(.5), q(.9)}
	return a.Print(r, [][]string{{fmt.Sprintf(
		"%s: what was learned from %s and %s; a new job runs for about %s, 80 %% of them for %s to %s", file,
		phrase.Count(r.Ended, "ended job"), phrase.Count(r.Readings, "reading"), phrase.Seconds(r.Median), phrase.Seconds(r.Low),
		phrase.Seconds(r.High),
	)}})
}

// learned returns what the scenario and the files teach.
func learned(ctx context.Context, a *app, opts *beliefsOptions, files []string) (m *belief.Memory, err error) {
	m = belief.NewMemory()
	switch {
	case opts.From.Name != "":
		m, err = taught(ctx, &opts.From)
	case opts.Save == "" || holdsBeliefs(files[0]):
		m, err = decide.ReadBeliefs(files[0])
		files = files[1:]
	}
	for i := 0; i < len(files) && err == nil; i++ {
		var log *sim.Log
		if log, err = readLog(a, files[i]); err == nil {
			err = sim.Visit(log, sim.Look{Before: func(tx *cluster.Txn, _ int) { m.Observe(tx) }})
			m.Forget()
		}
	}
	return m, err
}

// holdsBeliefs reports whether a file is one of saved beliefs, by its beginning.
func holdsBeliefs(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false // reading it as a log says why
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := io.ReadFull(f, head)
	return bytes.Contains(head[:n], []byte(`"`+belief.MemoryFormat+`"`))
}

func taught(ctx context.Context, from *flags.Scenario) (*belief.Memory, error) {
	s, err := from.Load()
	if err != nil {
		return nil, err
	}
	src, err := s.Open()
	if err != nil {
		return nil, err
	}
	return eval.Taught(ctx, src)
}
