package cluster

import (
	"fmt"
	"slices"
	"strconv"
)

// serverExtra is what a snapshot records about a server in addition to its specification.
type serverExtra struct {
	OnLoan bool    `snapshot:"on_loan"`
	Down   bool    `snapshot:"down"`
	Broken []int32 `snapshot:"out_of_order,0..lastGPU,most=MaxGPUs"`
}

func (s *State) restoreServer(id ServerID, extra *serverExtra) {
	if extra.OnLoan {
		s.lend(id, true)
	}
	for _, g := range extra.Broken {
		s.Fail(id, g, nil)
	}
	if extra.Down {
		s.Fail(id, -1, nil)
	}
}

// server reads the i-th server.
func (p *snapshotParser) server(i int) {
	r := p.r
	var v struct {
		ServerSpec
		serverExtra
	}
	if r.Struct(&v); r.Err() != nil {
		return
	}
	if p.largest = max(p.largest, v.GPUs); int64(i+1)*int64(p.largest) > maxSnapshotGPUs {
		r.Bad("gpus", strconv.Itoa(int(v.GPUs)), fmt.Sprintf("at most %d servers times the GPUs of the largest, which has %d",
			maxSnapshotGPUs, p.largest))
	}
	if v.OnLoan && v.Pool != Inference {
		r.Bad("on_loan", "true", "false for a server of the training pool")
	}
	if at := slices.IndexFunc(v.Broken, func(g int32) bool { return g >= v.GPUs }); at >= 0 {
		r.Bad("out_of_order", strconv.Itoa(int(v.Broken[at])), fmt.Sprintf("indices of GPUs, below %d", v.GPUs))
	}
	if at := repeats(v.Broken, v.GPUs); at >= 0 {
		r.Bad("out_of_order", strconv.Itoa(int(v.Broken[at])), "each GPU once")
	}
	if first, twice := p.named.ids[v.Name]; twice {
		r.Bad("name", strconv.Quote(v.Name), fmt.Sprintf("another than that of servers[%d]", first))
	}
	p.named.ids[v.Name] = ServerID(i)
	p.top.Spec.Servers, p.extras = append(p.top.Spec.Servers, v.ServerSpec), append(p.extras, v.serverExtra)
}
