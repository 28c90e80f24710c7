package cluster

import (
	"fmt"
	"slices"
	"strconv"
)

// serverExtra is what a snapshot records about a server in addition to its specification.
type serverExtra struct {
	onLoan, down bool
	broken       []int32
}

func (s *State) restoreServer(id ServerID, extra *serverExtra) {
	if extra.onLoan {
		s.lend(id, true)
	}
	for _, g := range extra.broken {
		s.Fail(id, g, nil)
	}
	if extra.down {
		s.Fail(id, -1, nil)
	}
}

var serverFields = []string{
	"name", "gpus", "cpu_milli", "mem_mib", "pool", "gpu_type", "gpu_mem_mib", "rack", "on_loan", "down", "out_of_order",
}

// server reads the i-th server.
func (p *snapshotParser) server(i int) {
	r := p.r
	var v ServerSpec
	var x serverExtra
	r.Object(serverFields, 0b1111, func(field int) {
		switch serverFields[field] {
		case "name":
			v.Name = readName(r, true)
		case "gpus":
			v.GPUs = int32(r.Number(0, MaxGPUs))
		case "cpu_milli":
			v.CPUMilli = readLimit(r)
		case "mem_mib":
			v.MemMiB = readLimit(r)
		case "pool":
			v.Pool = Pool(r.OneOf(poolNames[:]...))
		case "gpu_type":
			v.GPUType = readName(r, false)
		case "gpu_mem_mib":
			v.GPUMemMiB = r.Count(0)
		case "rack":
			v.Rack = int32(r.Number(0, MaxRacks))
		case "on_loan":
			x.onLoan = r.Flag()
		case "down":
			x.down = r.Flag()
		case "out_of_order":
			r.List(MaxGPUs, func(int) { x.broken = append(x.broken, int32(r.Number(0, MaxGPUs-1))) })
		}
	})
	if r.Err() != nil {
		return
	}
	if p.largest = max(p.largest, v.GPUs); int64(i+1)*int64(p.largest) > maxSnapshotGPUs {
		r.Bad("gpus", strconv.Itoa(int(v.GPUs)), fmt.Sprintf("at most %d servers times the GPUs of the largest, which has %d",
			maxSnapshotGPUs, p.largest))
	}
	if x.onLoan && v.Pool != Inference {
		r.Bad("on_loan", "true", "false for a server of the training pool")
	}
	if at := slices.IndexFunc(x.broken, func(g int32) bool { return g >= v.GPUs }); at >= 0 {
		r.Bad("out_of_order", strconv.Itoa(int(x.broken[at])), fmt.Sprintf("indices of GPUs, below %d", v.GPUs))
	}
	if at := repeats(x.broken, v.GPUs); at >= 0 {
		r.Bad("out_of_order", strconv.Itoa(int(x.broken[at])), "each GPU once")
	}
	if first, twice := p.named.ids[v.Name]; twice {
		r.Bad("name", strconv.Quote(v.Name), fmt.Sprintf("another than that of servers[%d]", first))
	}
	p.named.ids[v.Name] = ServerID(i)
	p.spec.Servers, p.extras = append(p.spec.Servers, v), append(p.extras, x)
}
