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
	to, site string
	list     bool
}

func newTraceFetchCmd(a *app) *cobra.Command {
	var opts fetchOptions
	cmd := &cobra.Command{
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
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return setNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runTraceFetch(cmd.Context(), a, opts, args) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.to, "to", "", "the shared folder (default $"+scenario.SharedVariable+", or ../shared)")
	f.StringVar(&opts.site, "site", public.Site, "where the repositories are, for example a mirror")
	f.BoolVar(&opts.list, "list", false, "list the sets, and get nothing")
	return cmd
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

func runTraceFetch(ctx context.Context, a *app, opts fetchOptions, names []string) error {
	for _, name := range names {
		if err := cmdline.OneOf("SET", name, setNames()...); err != nil {
			return err
		}
	}
	if opts.to == "" {
		opts.to = scenario.SharedFolder()
	}
	f := public.Fetcher{Site: opts.site, Said: func(line string) { a.Say("%s", line) }}
	var all []fetched
	for _, set := range public.Sets() {
		if len(names) > 0 && !slices.Contains(names, set.Folder) {
			continue
		}
		if !opts.list {
			if err := f.Set(ctx, opts.to, set); err != nil {
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
	if !opts.list {
		a.Printf("\n%s in %s/traces. Rows were cut as docs/data-sources.md says: say so when you publish results.\n",
			phrase.Count(len(all), "set"), strings.TrimSuffix(opts.to, "/"))
		if os.Getenv(scenario.SharedVariable) != opts.to && opts.to != "../shared" {
			a.Printf("So that scenarios find them: export %s=%s\n", scenario.SharedVariable, quote(fmt.Sprint(opts.to)))
		}
	}
	return nil
}
