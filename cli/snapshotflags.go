package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/env/belief"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// snapshotFlags say which snapshot of a cluster which policy decides on, and what is assumed.
type snapshotFlags struct {
	Snapshot string        `flag:"snapshot" help:"file of the snapshot, see plan; - for standard input"`
	Policy   string        `flag:"policy" complete:"policy" help:"the policy: a baseline (see baselines), released, or the folder of an exported policy or run"`
	Physics  string        `flag:"physics" default:"ideal" help:"performance model, see docs/physics.md"`
	Assume   time.Duration `flag:"assume" min:"0" help:"estimated run time of jobs that have no estimate"`
	Restart  time.Duration `flag:"restart" min:"0" help:"time without progress for which a stopped or moved job holds its GPUs when it starts again"`
	Beliefs  string        `flag:"beliefs" help:"file of what policies with +know have learned, also of run times for forecasts; see clustergym beliefs --save"`
	Seed     uint64        `flag:"seed" default:"1" help:"seed of policies that draw random numbers"`
}

// asked is a snapshot, and how it is played on.
type asked struct {
	state *cluster.State
	by    *policy.Policy
	// learned is what --beliefs contains, nil for nothing.
	learned *belief.Memory
	play    whatif.Options
}

// open finds the policy and reads the snapshot.
func (o *snapshotFlags) open(a *app, from *policy.Finder) (*asked, error) {
	model, err := physics.Parse(o.Physics)
	if err != nil {
		return nil, cmdline.Usage("--physics: %w", err)
	}
	out := &asked{play: whatif.Options{Physics: model, Restart: o.Restart, Assume: o.Assume, Seed: o.Seed}}
	if out.by, out.learned, err = o.find(from, o.Policy); err != nil {
		return nil, err
	}
	if out.learned != nil {
		out.play.Times = out.learned.Times(belief.History, belief.Gittins)
	}
	in, done, err := a.open(o.Snapshot, "read snapshot")
	if err != nil {
		return nil, err
	}
	defer done()
	if out.state, err = cluster.ReadSnapshot(in); err != nil {
		return nil, fmt.Errorf("%s: %w", o.Snapshot, err)
	}
	return out, nil
}

// find finds a policy that begins with what --beliefs contains, which it also returns.
func (o *snapshotFlags) find(from *policy.Finder, name string) (*policy.Policy, *belief.Memory, error) {
	from.Memory = true
	p, err := from.Load(name)
	if err != nil {
		return nil, nil, err
	}
	return decide.Remembering(p, o.Beliefs)
}

// unestimated says in the error of a policy that needs an estimate which a job of a snapshot does not have what to type.
func unestimated(err error, p *policy.Policy) error {
	if !errors.Is(err, cluster.ErrNoEstimate) {
		return err
	}
	inner, _ := p.Spec.CutKnow()
	return fmt.Errorf("%w: --assume 1h gives jobs without an estimate one, and --policy %s needs none", err,
		quote(inner.String()+baselines.KnowSuffix))
}
