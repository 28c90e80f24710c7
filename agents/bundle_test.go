package agents_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/baselines/all"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/must"
)

// TestBundleDecidesTheSame checks that a policy loaded from a bundle makes the same decisions, byte for byte, and that the
// manifest is preserved.
func TestBundleDecidesTheSame(t *testing.T) {
	p := newPolicy(t, 1, "sjfhold+menu")
	shake(p, 1)
	p.Margin = 3
	p.Range = agents.Range(nil).Widen(&p.Shape, &agents.Observation{Server: make([]float32, p.Shape.Server)})
	dir := filepath.Join(t.TempDir(), "policy")
	training := checkpoints.Provenance{Scenario: "venus-contended-v1", Seed: 7, Updates: 40,
		Seen: []checkpoints.Period{{Trace: "venus.csv", From: 0.5, To: 86400}}}
	must.Do(t, export.Save(dir, p, "today", training, nil))
	q, m, err := agents.Load(dir)
	must.Do(t, err)
	if q.Name != "learned" || q.Margin != 3 || q.Prior != "sjfhold+menu" || !slices.Equal(q.Range, p.Range) ||
		q.Window != p.Window || !reflect.DeepEqual(m.Training, training) || m.Created != "today" {
		t.Fatalf("read back %s, margin %v, window %d, %+v", q.Name, q.Margin, q.Window, m)
	}
	other := *p
	other.Params = p.Params.Clone()
	other.Name = "another"
	if q.Digest() != p.Digest() || other.Digest() != p.Digest() {
		t.Error("the same policy has another digest, read back or under another name")
	}
	for what, change := range map[string]func(){
		"a weight": func() { other.Params[0].Data[0]++ }, "the margin": func() { other.Margin++ }, "the prior": func() { other.Prior = "srsf" }, "the range": func() { other.Range = nil },
		"the window": func() { other.Window++ },
	} {
		before := other.Digest()
		if change(); other.Digest() == before {
			t.Errorf("the digest does not tell %s", what)
		}
	}
	jobs := workload(200, 3, true)
	want := text(t, play(t, cluster.Uniform(5, 8), jobs, agents.NewTeam(p)))
	if got := text(t, play(t, cluster.Uniform(5, 8), jobs, agents.NewTeam(q))); !bytes.Equal(got, want) {
		t.Fatal("the exported policy decides otherwise than the trained one")
	}
}

// load reads a bundle whose prior may be any baseline.
func load(dir string) error {
	b, err := checkpoints.ReadBundle(dir, checkpoints.Limits{})
	if err == nil {
		_, err = agents.FromBundle(b, all.Table())
	}
	return err
}

// TestForeignBundles checks that Load returns an error with the reason for bundles that this version cannot run.
func TestForeignBundles(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"another network", `network "transformer-9"`},
		{"another observation", "server features"},
		{"another prior", `policy "lottery"`},
		{"a prior that reads a file", "without files"},
		{"a prior that read a network", "time: \"learned\", want one of"},
		{"a margin below 0", "margin"},
		{"another graph", `graph: "hyper"`},
		{"another candidate", "offer features"},
		{"another width", "shape"},
		{"no heads", "heads"},
		{"no inducing points", "inducing points"},
		{"other inducing points", "shape"},
		{"the network before", `network "server-job-attention-2", want`},
		{"a huge window", "window"},
	} {
		dir := filepath.Join(t.TempDir(), "policy")
		must.Do(t, export.Save(dir, newPolicy(t, 1, "sjfskip"), "", checkpoints.Provenance{}, nil))
		// Rewrite the bundle through the library, so that the manifest's own checksum is right.
		b := must.Get(checkpoints.ReadBundle(dir, checkpoints.Limits{}))(t)
		m := b.Manifest
		switch c.name {
		case "another network":
			m.Architecture.Choices["network"] = "transformer-9"
		case "another observation":
			m.Features.Server[1].Name = "free_tpus"
		case "another prior":
			m.Prior.Name = "lottery"
		case "a prior that read a network":
			m.Prior.Name = "sjf+know:time=learned:from=mine"
		case "a prior that reads a file":
			m.Prior.Name = "a-srpt:predictor=mine.predictor"
		case "a margin below 0":
			m.Prior.Margin = -1
		case "another graph":
			m.Architecture.Choices["graph"] = "hyper"
		case "another candidate":
			m.Features.Offer[1].Name = "gift"
		case "another width":
			m.Architecture.Sizes["width"] = 64
		case "no heads":
			m.Architecture.Sizes["heads"] = 0
		case "no inducing points":
			delete(m.Architecture.Sizes, "inducing")
		case "other inducing points":
			m.Architecture.Sizes["inducing"]++
		case "the network before":
			m.Architecture.Choices["network"] = "server-job-attention-2"
		case "a huge window":
			m.Window = 999999
		}
		must.Do(t, checkpoints.WriteBundle(dir, m, b.Tensors, b.ONNX, "", nil))
		if err := load(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one about %s", c.name, err, c.want)
		}
		// The same change by hand must count as damage.
		path := filepath.Join(dir, "manifest.json")
		text := must.Get(os.ReadFile(path))(t)
		must.Do(t, os.WriteFile(path, bytes.Replace(text, []byte(`"name"`), []byte(`"nome"`), 1), 0o666))
		if _, _, err := agents.Load(dir); !errors.Is(err, checkpoints.ErrDamaged) && !errors.Is(err, checkpoints.ErrForeign) {
			t.Errorf("%s, edited by hand: error %v", c.name, err)
		}
	}
}
