package sim

import (
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
)

// Branch runs the simulator again as Replay does up to a decision of the log, counted from 0 as Visit meets them. It returns the
// episode with the transaction of that decision open and nothing proposed, and the operations that the log has there. The caller
// proposes operations, calls Commit and goes on with Next. Branch returns an error if the log has fewer
// decisions.
func Branch(log *Log, decision int) (s *Sim, recorded []cluster.Proposal, err error) {
	n := 0
	_, err = replay(log, Look{branch: func(p *player, tx *cluster.Txn) (more bool, err error) {
		if n++; n <= decision {
			return true, nil
		}
		mark := tx.Mark()
		if err := p.propose(tx); err != nil {
			return false, err
		}
		for i := range tx.Ops() {
			recorded = append(recorded, tx.Ops()[i].Proposal())
		}
		tx.Rollback(mark)
		tx.SetWake(0, false)
		s = p.sim
		return false, nil
	}})
	switch {
	case s != nil && errors.Is(err, errSeenEnough):
		return s, recorded, nil
	case err != nil:
		return nil, nil, err
	}
	return nil, nil, fmt.Errorf("branch log: decision %d, and it has %d", decision+1, n)
}
