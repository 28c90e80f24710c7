package cluster

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// The fields of a reading. Those of its amount come first.
var readingFields = slices.Concat(amountFields, []string{"at_s", "speed", "workers", "servers", "racks", "gpu_type", "shared"})

var readingNeeds = strictjson.Bits(readingFields, "at_s", "speed", "workers")

// reading reads one reading of a job, which follows those in before.
func (p *snapshotParser) reading(before []Reading) (m Reading) {
	r := p.r
	m.Servers = 1
	seen := r.Object(readingFields, readingNeeds, func(field int) {
		switch readingFields[field] {
		default:
			readAmount(r, field, &m.Amount)
		case "at_s":
			if m.At = readSeconds(r, p.now); len(before) > 0 && m.At < before[len(before)-1].At {
				r.Refuse("the readings in the order of their times")
			}
		case "speed":
			m.Speed = r.Positive()
		case "workers":
			m.Workers = r.Count(1)
		case "servers":
			m.Servers = r.Count(1)
		case "racks":
			m.Racks = r.Count(0)
		case "gpu_type":
			m.GPUType = readName(r, false)
		case "shared":
			m.Shared = r.Flag()
		}
	})
	m.fill(seen, Amount{GPUMilli: WholeGPU})
	if at := slices.IndexFunc(before, func(o Reading) bool { return o.Configuration == m.Configuration }); at >= 0 {
		r.Bad("workers", strconv.Itoa(int(m.Workers)), fmt.Sprintf("another configuration than that of readings[%d]", at))
	}
	return m
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
		b = strconv.AppendFloat(append(b, `,"speed":`...), m.Speed, 'g', -1, 64)
		b = appendInt(b, `,"workers":`, int64(m.Workers))
		b = appendAmount(b, m.Amount)
		b = appendInt(b, `,"servers":`, int64(m.Servers))
		b = appendSome(b, `,"racks":`, int64(m.Racks))
		b = appendSomeText(b, `,"gpu_type":`, m.GPUType)
		if m.Shared {
			b = append(b, `,"shared":true`...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}
