package cluster

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// snapshots is the format of snapshots. Tags of structs say how they are read. Kinds that refer to the servers or to the instant
// of the snapshot ask the parser, which owns the reader.
var snapshots = strictjson.Format{
	Key: "snapshot",
	Limits: map[string]int64{
		"snapshotVersion": snapshotVersion, "WholeGPU": WholeGPU, "MaxGPUs": MaxGPUs, "MaxRacks": MaxRacks, "maxQuotas": maxQuotas,
		"MaxServers": MaxServers, "lastGPU": MaxGPUs - 1,
	},
	Kinds: map[string]strictjson.Kind{
		"given": strictjson.Texts(names.Longest, func(s string) bool { return s != "" && names.OK(s) },
			"1 to 256 bytes of printable text"),
		"name":    strictjson.Texts(names.Longest, names.OK, "at most 256 bytes of printable text"),
		"limit":   strictjson.As(readLimit),
		"seconds": seconds(func(*snapshotParser) time.Duration { return maxTime }),
		"past":    seconds(func(p *snapshotParser) time.Duration { return p.top.Now }),
		"gputime": seconds(func(*snapshotParser) time.Duration { return maxAttained }),
		"pool":    strictjson.Words[Pool](poolNames[:]...),
		"phase": strictjson.As(func(r *strictjson.Reader, to *Phase) {
			*to = Pending + Phase(r.OneOf(phaseNames[Pending:Done]...))
		}),
		"rate":     strictjson.As(readRate),
		"server":   strictjson.As(func(r *strictjson.Reader, to *ServerID) { *to = parserOf(r).named.read(r) }),
		"where":    strictjson.As(func(r *strictjson.Reader, to **ServerSet) { *to = parserOf(r).named.where(r) }),
		"pieces":   strictjson.As(func(r *strictjson.Reader, to *[]pieceText) { parserOf(r).placement(to) }),
		"readings": strictjson.As(func(r *strictjson.Reader, to *[]Reading) { parserOf(r).readings(to) }),
		"later":    strictjson.Later,
	},
}

func parserOf(r *strictjson.Reader) *snapshotParser { return r.Owner.(*snapshotParser) }

// readLimit reads a whole number, or null, which means Unlimited.
func readLimit(r *strictjson.Reader, to *int64) {
	if *to = Unlimited; r.Null() {
		return
	}
	n, err := strconv.ParseInt(string(r.Numeral()), 10, 64)
	if err != nil || n < 0 || n >= Unlimited {
		r.Refuse(fmt.Sprintf("null or a whole number from 0 to %d", int64(Unlimited)-1))
	}
	*to = n
}

// seconds returns the kind of times from 0 to most, which are read without rounding.
func seconds(most func(p *snapshotParser) time.Duration) strictjson.Kind {
	return strictjson.As(func(r *strictjson.Reader, to *time.Duration) {
		d, exact := parseSeconds(string(r.Numeral()))
		if most := most(parserOf(r)); !exact || d > most {
			r.Refuse(fmt.Sprintf("seconds from 0 to %d with at most 9 decimals", most/time.Second))
			return
		}
		*to = d
	})
}

// rate is the speed of a running job, and how it is written.
type rate struct {
	speed float64
	text  string
}

const aSpeed = "a number above 0 and at most 1e6, for a running job only"

func readRate(r *strictjson.Reader, to *rate) {
	to.text = string(r.Numeral())
	var err error
	if to.speed, err = strconv.ParseFloat(to.text, 64); err != nil || !(to.speed > 0 && to.speed <= 1e6) {
		r.Refuse(aSpeed)
	}
}

// fill copies from another amount the fields that were not read. Seen are the fields that were; those of the amount begin at the
// given bit.
func (a *Amount) fill(seen uint32, at int, from Amount) {
	for i, p := range [...]*int32{&a.GPUMilli, &a.CPUMilli, &a.MemMiB, &a.GPUMemMiB} {
		if seen>>(at+i)&1 == 0 {
			*p = [...]int32{from.GPUMilli, from.CPUMilli, from.MemMiB, from.GPUMemMiB}[i]
		}
	}
}

// amountAt returns the bit at which the fields of an amount begin.
func amountAt(fields []string) int { return slices.Index(fields, "gpu_milli") }

// parseSeconds reads decimal seconds without rounding.
func parseSeconds(s string) (time.Duration, bool) {
	whole, part, _ := strings.Cut(s, ".")
	if whole == "" || len(part) > 9 {
		return 0, false
	}
	ns, err := strconv.ParseUint(whole+part+"000000000"[len(part):], 10, 63)
	return time.Duration(ns), err == nil
}

// appendSeconds writes a time such that parseSeconds returns the same time.
func appendSeconds(b []byte, d time.Duration) []byte {
	b = strconv.AppendInt(b, int64(d/time.Second), 10)
	if d %= time.Second; d != 0 {
		b = append(b, strings.TrimRight(fmt.Sprintf(".%09d", d), "0")...)
	}
	return b
}
