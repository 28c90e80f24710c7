package train

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/clustergym/clustergym/internal/units"
)

// rolls are the rollouts of an update that other processes play. The unit with number w·Rollouts + i is the i-th episode on the
// w-th window.
type rolls struct {
	run  *run
	mu   sync.Mutex
	outs []*rollout // nil: not there yet, or too large to be sent
}

// giveRollouts has the pool play the rollouts of an update with the current policy, whose weights are part of the job.
func (r *run) giveRollouts(update int) (*rolls, error) {
	job, err := r.files.job(r.policy, map[string]string{updateKey: strconv.Itoa(update), policyKey: r.policy.Digest()})
	if err != nil {
		return nil, err
	}
	x := &rolls{run: r, outs: make([]*rollout, r.cfg.Windows*r.cfg.Rollouts)}
	if err := r.opt.Pool.Start(job, x.take); err != nil {
		return nil, err
	}
	r.opt.Pool.Give(x.units()...)
	return x, nil
}

func (x *rolls) units() []int {
	all := make([]int, len(x.outs))
	for i := range all {
		all[i] = i
	}
	return all
}

// take keeps the rollout that another process played. It implements the function of units.Pool.Start.
func (x *rolls) take(unit int, answer []byte) (refused, failed error) {
	if unit < 0 || unit >= len(x.outs) {
		return fmt.Errorf("rollout %d: want 0 to %d", unit, len(x.outs)-1), nil
	}
	if string(answer) == tooLarge {
		return nil, nil
	}
	out, err := x.run.decodeRollout(answer)
	if err != nil {
		return err, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.outs[unit] == nil {
		x.outs[unit] = out
	}
	return nil, nil
}

// wait returns the rollouts, nil for those that were too large to be sent.
func (x *rolls) wait(ctx context.Context, pool units.Pool) ([]*rollout, error) {
	if err := pool.Wait(ctx, x.units()...); err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.outs, nil
}

// openRollouts prepares to play the rollouts of an update.
func (w *Worker) openRollouts(j *job) (Compute, error) {
	r := *w.run
	var err error
	if r.policy, err = policyFrom(r.cfg.design("learned", j.made.Prior), j.tensors, j.policy, "the one of the run"); err != nil {
		return nil, err
	}
	windows, _ := r.choose(j.update)
	return func(ctx context.Context, unit int) ([]byte, error) {
		if n := len(windows) * r.cfg.Rollouts; unit < 0 || unit >= n {
			return nil, fmt.Errorf("rollout %d: want 0 to %d", unit, n-1)
		}
		answer, err := r.rollout(ctx, j.update, unit/r.cfg.Rollouts, unit%r.cfg.Rollouts, windows, cmp.Or(w.most, maxSent))
		if err != nil {
			return nil, fmt.Errorf("rollout %d of update %d: %w", unit, j.update, err)
		}
		return answer, nil
	}, nil
}

// rollout plays the i-th episode on the w-th window of an update and returns the answer for the run. It has at most
// so many bytes.
func (r *run) rollout(ctx context.Context, update, w, i int, windows []window, most int) ([]byte, error) {
	v := windows[w]
	if err := v.open(); err != nil {
		return nil, err
	}
	g, err := r.player(update, w, i, &v)
	if err != nil {
		return nil, err
	}
	if err := playAll(ctx, []*player{g}, 1, func(int, *rollout) error { return nil }); err != nil {
		return nil, err
	}
	return r.encodeRollout(g.out, most)
}
