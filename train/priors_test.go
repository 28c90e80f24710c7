package train

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// TestPriorsOfOthers checks that teams whose priors are A-SRPT, which has state of its own, and Lyra, which borrows servers, can be
// trained over all kinds of lists, exported, played and replayed, and that an untrained team decides as such a prior.
func TestPriorsOfOthers(t *testing.T) {
	for _, c := range []struct{ scenario, prior string }{
		{"embedded-physics-v1", "a-srpt"},
		{"embedded-physics-v1", "a-srpt:predictor=granted"},
		{"embedded-physics-v1", "a-srpt:predictor=granted+menu"},
		{"embedded-physics-untold-v1", "a-srpt:predictor=granted+menu+know:speed=fit"},
		{"loaning-small-v1", "lyra+loan"},
		{"loaning-small-v1", "lyra+loan+know"},
		{"loaning-small-v1", "a-srpt:predictor=granted+menu+loan"},
	} {
		for _, list := range []string{"narrow", "wide", "joint"} {
			t.Run(c.prior+", "+list, func(t *testing.T) {
				s := must.Get(scenario.Load(c.scenario, "workload.jobs=600", "window.arrivals=30"))(t)
				cfg, opt := tiny(t)
				opt.Scenarios, cfg.Prior, cfg.Updates, cfg.Expert, cfg.Windows, cfg.Validation = []*scenario.Scenario{s}, c.prior, 2, 1, 1, 1
				cfg.Label, cfg.Against = 0.1, ownPrior
				if list != "narrow" {
					cfg.Candidates, cfg.Rivals = 12, "srsf+loan,a-srpt:predictor=granted"
				}
				if list == "joint" {
					cfg.Size.Joint, cfg.Size.Hidden, cfg.Pairs = true, cfg.Size.Width, 0.5
				}
				trainAndPlay(t, cfg, opt)
			})
		}
	}
}

// trainAndPlay trains a team, exports it, and plays and replays a test window with what was exported.
func trainAndPlay(t *testing.T, cfg Config, opt Options) {
	p := mustRun(t, cfg, opt)
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "now", checkpoints.Provenance{}, nil))
	b := must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(t)
	back, err := agents.FromBundle(b, cfg.Table)
	if err != nil || back.Digest() != p.Digest() {
		t.Fatalf("the policy read differs from the one that was trained, or error %v", err)
	}
	if c := b.Manifest.Candidates; (c != nil) != (cfg.Candidates > 0) ||
		c != nil && (c.Set != "wide-1" || c.Items != cfg.Candidates || strings.Join(c.Rivals, ",") != cfg.Rivals) {
		t.Errorf("the manifest says %+v, want %d candidates and the rivals %s", c, cfg.Candidates, cfg.Rivals)
	}
	src := must.Get(opt.Scenarios[0].Open())(t)
	e := must.Get(src.Episode(scenario.Test, 0, 1))(t)
	untrained := *back
	untrained.Margin = 1e6
	named := must.Get(back.Base().New(back.Given))(t)
	log := func(s cluster.Scheduler) *sim.Log {
		t.Helper()
		run := must.Get(e.New())(t)
		must.Do(t, run.Run(t.Context(), s, 1))
		if o := run.Outcome(); !o.Terminated {
			t.Fatalf("cut off: %s", o.Truncated)
		}
		return run.Log()
	}
	text := func(l *sim.Log) []byte {
		t.Helper()
		var b bytes.Buffer
		must.Do(t, l.Write(&b))
		return b.Bytes()
	}
	_, want, _ := bytes.Cut(text(log(named)), []byte("\n")) // the header names the policy
	if _, got, _ := bytes.Cut(text(log(agents.NewTeam(&untrained))), []byte("\n")); !bytes.Equal(got, want) {
		t.Error("a team that departs from nothing decides otherwise than its prior")
	}
	played := log(agents.NewTeam(back))
	lends := func(r sim.Record) bool { return r.Kind == sim.Loan }
	if strings.Contains(cfg.Prior, "+loan") && !slices.ContainsFunc(played.Records, lends) {
		t.Error("no server was lent: the test says little")
	}
	again, err := sim.Replay(played)
	if err != nil || !bytes.Equal(text(again), text(played)) {
		t.Errorf("the replay differs from the episode, or error %v", err)
	}
}
