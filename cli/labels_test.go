package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// bundleNamed writes a learned policy with a name into the folder bundles/NAME.
func bundleNamed(t *testing.T, name string) {
	t.Helper()
	p, _, err := agents.LoadFS(released.FS())
	require.Do(t, err)
	p.Name = name
	require.Do(t, export.Save(filepath.Join("bundles", name), p, "", checkpoints.Provenance{}, nil))
}

// TestANameStandsForOnePolicy checks that a policy that bears the name of another one does not take its row.
func TestANameStandsForOnePolicy(t *testing.T) {
	t.Chdir(t.TempDir())
	bundleNamed(t, "sjfskip")
	bundleNamed(t, "prior")
	bundleNamed(t, "fjf")
	eval := []string{"eval", "-s", "embedded-small-v1", "--windows", "1", "--seeds", "1", "--figures", "none"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(eval, "-p", "bundles/sjfskip"), "--baseline sjfskip: policy bundles/sjfskip of the list has that name, too"},
		{append(eval, "-p", "las,bundles/sjfskip", "--baseline", "sjfskip"), "policy bundles/sjfskip of the list"},
		{append(eval, "-p", "sjfskip=las"), "policy sjfskip=las of the list"},
		{append(eval, "-p", "sjfskip=released"), "policy sjfskip=released of the list"},
		{append(eval, "-p", "bundles/prior", "--baseline", "prior"), "policy bundles/prior of the list"},
		{append(eval, "-p", "prior=las", "--baseline", "prior"), "policy prior=las of the list"},
		{append(eval, "-p", "released=prior", "--baseline", "released"), "policy released=prior of the list"},
		{append(eval, "-p", "bundles/fjf=las", "--baseline", "bundles/fjf"), "policy bundles/fjf=las of the list"},
		{append(eval, "-p", "sjfskip,bundles/sjfskip"), `two policies have the name "sjfskip"`},
		{append(eval, "-p", "x=las,x=fifo"), `two policies have the name "x"`},
		{[]string{"bench", "--policy", "bundles/sjfskip"}, `another policy has the name "sjfskip"`},
		{[]string{"bench", "--policy", "bundles/fjf"}, `another policy has the name "fjf"`},
	} {
		if s := command(t, c.args...); s.code != cmdline.CodeUsage || !strings.Contains(s.talk, c.want) || s.out != "" {
			t.Errorf("%v: exit code %d\n%s%s\nwant %q", c.args, s.code, s.talk, s.out, c.want)
		}
	}
}

// TestBaselinesByTheirNames checks what the baseline stands for where no name stands for two policies.
func TestBaselinesByTheirNames(t *testing.T) {
	t.Chdir(t.TempDir())
	bundleNamed(t, "sjfskip")
	bundleNamed(t, "venus")
	of := func(arg string) string {
		p := require.Get((&app{}).fitter().Load(arg))(t)
		return p.Rule + " " + p.Digest
	}
	usual, own := of("prior"), of("bundles/venus")
	for _, c := range []struct {
		list     []string
		baseline string
		want     string // rule and digest
	}{
		{[]string{"las"}, "sjfskip", "sjfskip "},
		{[]string{"las", "sjfskip"}, "sjfskip", "sjfskip "},
		{[]string{"sjfskip=sjfskip"}, "sjfskip", "sjfskip "},
		{[]string{"mine=las"}, "mine", "las "},
		{[]string{"bundles/venus"}, "venus", own},
		{[]string{"venus=bundles/venus"}, "bundles/venus", own},
		{[]string{"team=bundles/sjfskip"}, "sjfskip", "sjfskip "},
		{[]string{"las"}, "prior", usual},
		{[]string{"x=prior", "fifo"}, "x", usual},
		{[]string{"x=prior", "bundles/venus"}, "x", own}, // a team and its prior have one digest
	} {
		all, err := (&app{}).findPolicies(c.list, c.baseline)
		if err != nil {
			t.Errorf("%v, baseline %s: %v", c.list, c.baseline, err)
			continue
		}
		n := 0
		for _, p := range all {
			if p.Name == c.baseline {
				n++
				if got := p.Rule + " " + p.Digest; got != c.want {
					t.Errorf("%v, baseline %s: %s, want %s", c.list, c.baseline, got, c.want)
				}
			}
		}
		if n != 1 {
			t.Errorf("%v, baseline %s: %d policies have its name", c.list, c.baseline, n)
		}
	}
	if all, err := (&app{}).findPolicies([]string{"prior=las", "bundles/venus"}, "sjfskip"); err != nil || all[0].Rule != "las" {
		t.Errorf("a policy that the user calls prior: %q, %v, want las", all[0].Rule, err)
	}
}
