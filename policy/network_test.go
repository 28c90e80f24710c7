package policy_test

import (
	"slices"
	"testing"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/policy"
)

// TestNetworksAreRecorded checks that a policy that reads a network of run times has another digest if the network is another, and
// records what the network was fitted on.
func TestNetworksAreRecorded(t *testing.T) {
	dir := t.TempDir()
	write := func(scale float32) {
		t.Helper()
		n := belief.Network{Members: []belief.Member{belief.NewMember(2)}}
		for range belief.Inputs {
			n.Inputs.Mean, n.Inputs.Scale = append(n.Inputs.Mean, 0), append(n.Inputs.Scale, scale)
		}
		if err := n.Write(dir); err != nil {
			t.Fatal(err)
		}
	}
	seen := checkpoints.Period{Trace: "a", From: 1, To: 2}
	finder := policy.Finder{Seen: func(d string) ([]checkpoints.Period, error) {
		if d != dir {
			t.Errorf("asked for folder %q, want %q", d, dir)
		}
		return []checkpoints.Period{seen}, nil
	}}
	load := func(name string) *policy.Policy {
		t.Helper()
		p, err := finder.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	suffix := "+know:time=learned:from=" + dir
	for _, name := range []string{"srsf" + suffix, "x=srsf" + suffix + ":by=mean", "srsf" + suffix + "+loan", released.Name + suffix} {
		write(1)
		p := load(name)
		if !p.Trained() || !slices.Equal(p.Networks, []string{dir}) || !slices.Contains(p.Training.Seen, seen) {
			t.Errorf("%s: networks %v, trained on %v", name, p.Networks, p.Training.Seen)
		}
		if again := load(name); again.Digest != p.Digest || p.Digest == "" {
			t.Errorf("%s: digests %q and %q of the same network", name, p.Digest, again.Digest)
		}
		write(2)
		if other := load(name); other.Digest == p.Digest {
			t.Errorf("%s: the digest does not depend on the network", name)
		}
	}
	if p := load("srsf+know"); p.Trained() || p.Digest != "" {
		t.Errorf("without a network: %+v", p)
	}
}
