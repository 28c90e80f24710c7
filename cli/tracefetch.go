package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/scenario"
	public "github.com/clustergym/clustergym/env/trace/fetch"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/phrase"
)

type fetchOptions struct {
	To   string `flag:"to" help:"the shared folder (default $CLUSTERGYM_SHARED, or ../shared)"`
	List bool   `flag:"list" help:"list the sets, and get nothing"`
}

// traceSite is where the repositories of traces are. A test changes it.
var traceSite = public.Site

func newTraceFetchCmd(a *app) *cobra.Command {
	return newCommand(a, &fetchOptions{}, &cobra.Command{
		Use:   "fetch [SET...]",
		Short: "Get the public traces that scenarios and tables use",
		Long: cmdline.Long(`
Gets public traces from the repositories that publish them, at fixed commits, checks their SHA-256, cuts them to the rows that
the scenarios use, and puts them below traces/ in the shared folder, where scenarios look for them: that of CLUSTERGYM_SHARED, or
../shared. Without arguments it gets all sets. It prints the licence of each, and what to cite. What is there already is
checked and left alone. A download that was interrupted goes on where it stopped. Without a network the error says where a file
can be had, and where to put it.`),
		Example: `  clustergym trace fetch --list
  clustergym trace fetch
  clustergym trace fetch helios-venus-2020-06 --to data`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeArgs(setNames),
	}, runTraceFetch)
}

func setNames() []string {
	var names []string
	for _, set := range public.Sets() {
		names = append(names, set.Folder)
	}
	return names
}

// fetched is one set in the result of trace fetch.
type fetched struct {
	Set     string `json:"set"`
	About   string `json:"about"`
	Licence string `json:"licence"`
	Cite    string `json:"cite"`
	Authors string `json:"authors"`
}

func runTraceFetch(ctx context.Context, a *app, opts *fetchOptions, names []string) error {
	for _, name := range names {
		if err := cmdline.OneOf("SET", name, setNames()...); err != nil {
			return err
		}
	}
	if opts.To == "" {
		opts.To = scenario.SharedFolder()
	}
	f := public.Fetcher{Site: traceSite, Said: func(line string) { a.Say("%s", line) }}
	var all []fetched
	for _, set := range public.Sets() {
		if len(names) > 0 && !slices.Contains(names, set.Folder) {
			continue
		}
		if !opts.List {
			if err := f.Set(ctx, opts.To, set); err != nil {
				return err
			}
		}
		all = append(all, fetched{set.Folder, set.About, set.Licence, set.Cite, set.Authors})
	}
	if a.JSON {
		return a.PrintJSON(all)
	}
	for _, s := range all {
		a.Printf("%s: %s\n  licence: %s; cite: %s\n  authors' data: %s\n", s.Set, s.About, s.Licence, s.Cite, s.Authors)
	}
	if !opts.List {
		a.Printf("\n%s in %s/traces. Rows were cut as docs/data-sources.md says: say so when you publish results.\n",
			phrase.Count(len(all), "set"), strings.TrimSuffix(opts.To, "/"))
		if os.Getenv(scenario.SharedVariable) != opts.To && opts.To != "../shared" {
			a.Printf("So that scenarios find them: export %s=%s\n", scenario.SharedVariable, quote(fmt.Sprint(opts.To)))
		}
	}
	return nil
}
