package cluster

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

var readingAmount = amountAt(strictjson.Names("snapshot", Reading{}))

// readings reads the readings of a job.
func (p *snapshotParser) readings(to *[]Reading) {
	r, all := p.r, (*to)[:0]
	r.List(MaxReadings, func(i int) {
		m := Reading{Configuration: Configuration{Servers: 1}}
		m.fill(r.Struct(&m), readingAmount, Amount{GPUMilli: WholeGPU})
		if i > 0 && m.At < all[i-1].At {
			r.Bad("at_s", string(appendSeconds(nil, m.At)), "the readings in the order of their times")
		}
		if at := slices.IndexFunc(all, func(o Reading) bool { return o.Configuration == m.Configuration }); at >= 0 {
			r.Bad("workers", strconv.Itoa(int(m.Workers)), fmt.Sprintf("another configuration than that of readings[%d]", at))
		}
		all = append(all, m)
	})
	*to = all
}

// readingsWritable returns an error about the first reading that ReadSnapshot would refuse.
func readingsWritable(all []Reading) error {
	for i := range all {
		if !names.OK(all[i].GPUType) {
			return fmt.Errorf("reading %d: GPU type %q: want a printable one", i, all[i].GPUType)
		}
	}
	return nil
}

// appendReadings writes the readings of a job with their key, or nothing if there are none.
func appendReadings(b []byte, all []Reading) []byte {
	if len(all) == 0 {
		return b
	}
	b = append(b, `,"readings":[`...)
	for i := range all {
		m := &all[i]
		if i > 0 {
			b = append(b, ',')
		}
		b = appendSeconds(append(b, `{"at_s":`...), m.At)
		b = strictjson.AppendFloat(b, `,"speed":`, m.Speed)
		b = strictjson.AppendInt(b, `,"workers":`, int64(m.Workers))
		b = appendAmount(b, m.Amount)
		b = strictjson.AppendInt(b, `,"servers":`, int64(m.Servers))
		b = strictjson.AppendSome(b, `,"racks":`, int64(m.Racks))
		b = strictjson.AppendSomeText(b, `,"gpu_type":`, m.GPUType)
		if m.Shared {
			b = append(b, `,"shared":true`...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
