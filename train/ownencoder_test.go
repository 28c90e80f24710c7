package train

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/candidates"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/observe"
	"github.com/clustergym/clustergym/env/scenario"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
)

// few is a custom encoder with two features of a server, one of a job, two of a candidate and one of the cluster.
type few struct{}

func (few) Spec() observe.Spec {
	part := func(names ...string) (all []observe.Feature) {
		for _, name := range names {
			all = append(all, observe.Feature{Name: name, Unit: "of all", Max: 1})
		}
		return all
	}
	return observe.Spec{
		Server: part("free", "open"), Job: part("waits"), Candidate: part("starts", "own"), Global: part("busy"),
	}
}

func (few) Encode(tx *cluster.Txn, list []candidates.Candidate, o *observe.Observation) error {
	s := tx.View()
	flag := func(b bool) float32 {
		if b {
			return 1
		}
		return 0
	}
	*o = observe.Observation{Global: []float32{1 - float32(s.FreeTotal())*1000/float32(s.Total().GPUMilli)}}
	for i := range s.Servers() {
		id := cluster.ServerID(i)
		o.Servers = append(o.Servers, float32(s.FreeGPUs(id))/float32(s.Server(id).GPUs), flag(s.Open(id)))
	}
	for i := range list {
		c := &list[i]
		o.Candidates = append(o.Candidates, flag(len(c.Ops) > 0), flag(c.Kind == candidates.Own))
		at := int32(-1)
		if c.Job >= 0 {
			at = int32(len(o.Ids))
			o.Ids = append(o.Ids, c.Job)
			o.Jobs = append(o.Jobs, flag(s.Phase(c.Job) == cluster.Pending))
		}
		o.Of = append(o.Of, at)
	}
	return nil
}

// waiting is a custom reward: jobs cost only while they wait.
type waiting struct{}

func (waiting) Name() string { return "waiting" }

func (waiting) Score(s *cluster.View, from, to time.Duration) float64 {
	return -float64(len(s.Pending())) * (to - from).Hours()
}

// TestOwnEncoderAndReward checks that a custom encoder and a custom reward work in training, export and production: a policy is
// trained with both, exported, and loaded from its folder. A program without the encoder must return an error that names it.
func TestOwnEncoderAndReward(t *testing.T) {
	observe.Register("few", func(int) observe.Encoder { return few{} })
	env.RegisterReward(waiting{})
	cfg, opt := tiny(t)
	cfg.Encoder, cfg.Objective, cfg.Window = "few", "waiting", 8
	p := mustRun(t, cfg, opt)
	if p.Shape.Server != 3 || p.Shape.Job != 2 || p.Shape.Candidate != 2 {
		t.Fatalf("the network reads %d, %d and %d numbers, want the encoder's with the cluster's", p.Shape.Server, p.Shape.Job, p.Shape.Candidate)
	}
	flow := cfg
	flow.Objective = ""
	opt.Dir = filepath.Join(t.TempDir(), "flow")
	other := mustRun(t, flow, opt)
	if p.Digest() == other.Digest() {
		t.Error("another reward teaches the same weights")
	}

	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "now", checkpoints.Provenance{Scenario: "embedded-small-v1"}, nil))
	found := must.Get(new(policy.Finder).Load(dir))(t)
	source := must.Get(scenario.Load("embedded-small-v1"))(t)
	src := must.Get(source.Open())(t)
	e := must.Get(src.Episode(scenario.Test, 0, 1))(t)
	g := goal{reward: waiting{}, memory: time.Hour}
	want := must.Get(g.follow(agents.NewTeam(p), e.Episode))(t)
	s := must.Get(found.New())(t)
	got, err := g.follow(s, e.Episode)
	if err != nil || got.total != want.total {
		t.Errorf("found again it costs %v (%v), want %v", got.total, err, want.total)
	}

	b := must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(t)
	b.Manifest.Encoder = "unheard-of"
	foreign := filepath.Join(t.TempDir(), "foreign")
	must.Do(t, checkpoints.WriteBundle(foreign, b.Manifest, b.Tensors, b.ONNX, "card", nil))
	_, err = new(policy.Finder).Load(foreign)
	if !errors.Is(err, checkpoints.ErrForeign) || !strings.Contains(err.Error(), `encoder "unheard-of" is not part of this program`) {
		t.Errorf("a policy of an encoder that is not there: error %v", err)
	}
}

// TestTrainKnowing checks that a team is trained with the beliefs of a prior that is told nothing, that a prior which needs the
// training split is refused without it, and that a bundle has the team as it was trained.
func TestTrainKnowing(t *testing.T) {
	for _, encoder := range []string{observe.StandardName, observe.UncertainName} {
		t.Run(encoder, func(t *testing.T) { trainKnowing(t, encoder) })
	}
}

func trainKnowing(t *testing.T, encoder string) {
	cfg, opt := tiny(t)
	cfg.Encoder = encoder
	s := must.Get(scenario.Load("embedded-physics-untold-v1", "workload.jobs=600", "window.arrivals=40"))(t)
	opt.Scenarios = []*scenario.Scenario{s}
	cfg.Prior, cfg.Updates, cfg.Expert = "srsf+menu+move+know:speed=fit:seen=training", 2, 1
	if _, _, err := Run(t.Context(), cfg, opt); !errors.Is(err, baselines.ErrUnfitted) {
		t.Fatalf("without the training split: error %v", err)
	}
	given := baselines.Given{
		Learned: func(kind belief.Kind) []byte { return belief.New(kind, belief.Mean).Save() },
		Speeds:  func() []byte { return belief.NewSpeeds(true).Save() },
	}
	var asked baselines.Needs
	opt.Given = func(_ context.Context, _ *scenario.Source, needs baselines.Needs) (baselines.Given, error) {
		asked = needs
		return given, nil
	}
	p := mustRun(t, cfg, opt)
	if asked != (baselines.Needs{Learned: true, Speeds: true, Memory: true}) {
		t.Errorf("the prior needs %+v", asked)
	}
	dir := filepath.Join(t.TempDir(), "policy")
	must.Do(t, export.Save(dir, p, "now", checkpoints.Provenance{Scenario: s.Name}, nil))
	if found, err := new(policy.Finder).Load(dir); err != nil || found.Learned.Digest() != p.Digest() {
		t.Errorf("the bundle has another team, error %v", err)
	}
}
