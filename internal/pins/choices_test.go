package pins

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"github.com/clustergym/clustergym/internal/must"
)

// choices plays a window with the released policy, with the suffix in name if any, and describes every choice: the candidates,
// the network's observations, matrix by matrix, the bits of the bids, and the chosen candidate.
func choices(t *testing.T, open func() (*sim.Episode, error), name string) (text []byte, note string) {
	t.Helper()
	p, _, err := agents.LoadFS(released.FS())
	must.Do(t, err)
	team := agents.NewTeam(p)
	var b bytes.Buffer
	n, others := 0, 0
	team.Record(func(tx *cluster.Txn, c *agents.Choice) error {
		fmt.Fprintf(&b, "choice %d at %v:\n", n, tx.Now())
		for i := range c.List {
			o := &c.List[i]
			fmt.Fprintf(&b, "  %v job %d wait %v saves %v prior %g bid %08x:", o.Kind, o.Job, o.Wait, o.Saves, c.Prior[i],
				math.Float32bits(c.Bids[i]))
			for k := range o.Ops {
				fmt.Fprintf(&b, " %+v", o.Ops[k])
			}
			b.WriteByte('\n')
		}
		obs := c.Observation
		fmt.Fprintf(&b, "  servers %s jobs %s offers %s shares %s of %s, takes %d\n",
			bits(obs.Server), bits(obs.Job), bits(obs.Candidate), bits(obs.Shares), bits(obs.Of), c.Action)
		n++
		if c.Action > 0 {
			others++
		}
		return nil
	})
	spec, err := baselines.Table{}.ParsePolicy(name)
	if err != nil || spec.Base != released.Name {
		t.Fatalf("choices of %s, want those of %s: %v", name, released.Name, err)
	}
	s := must.Get(spec.Wrap(baselines.Given{}, team))(t)
	play(t, open, s)
	return b.Bytes(), fmt.Sprintf("%d choices, %d times not the first offer", n, others)
}

// bits returns a digest of numbers.
func bits(numbers any) string {
	var b bytes.Buffer
	if err := binary.Write(&b, binary.LittleEndian, numbers); err != nil {
		panic(err)
	}
	return digest(b.Bytes())[:8]
}
