package cluster

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// readName reads a printable name. If must is true, the name must not be empty.
func readName(r *strictjson.Reader, must bool) string {
	s, ok := r.String(names.Longest)
	switch {
	case must && (!ok || s == "" || !names.OK(s)):
		r.Refuse("1 to 256 bytes of printable text")
	case !ok || !names.OK(s):
		r.Refuse("at most 256 bytes of printable text")
	}
	return s
}

// readLimit reads a whole number, or null, which means Unlimited.
func readLimit(r *strictjson.Reader) int64 {
	if r.Null() {
		return Unlimited
	}
	n, err := strconv.ParseInt(string(r.Numeral()), 10, 64)
	if err != nil || n < 0 || n >= Unlimited {
		r.Refuse(fmt.Sprintf("null or a whole number from 0 to %d", int64(Unlimited)-1))
	}
	return n
}

// readSeconds reads a time from 0 to most, without rounding.
func readSeconds(r *strictjson.Reader, most time.Duration) time.Duration {
	d, exact := parseSeconds(string(r.Numeral()))
	if !exact || d > most {
		r.Refuse(fmt.Sprintf("seconds from 0 to %d with at most 9 decimals", most/time.Second))
		return 0
	}
	return d
}

// The fields of an amount. They come first among the fields of whatever contains an amount.
var amountFields = []string{"gpu_milli", "cpu_milli", "mem_mib", "gpu_mem_mib"}

// readAmount reads one field of an amount.
func readAmount(r *strictjson.Reader, field int, a *Amount) {
	switch amountFields[field] {
	case "gpu_milli":
		a.GPUMilli = int32(r.Number(1, WholeGPU))
	case "cpu_milli":
		a.CPUMilli = r.Count(0)
	case "mem_mib":
		a.MemMiB = r.Count(0)
	case "gpu_mem_mib":
		a.GPUMemMiB = r.Count(0)
	}
}

// fill copies from another amount the fields that were not read; bit i of read is set if field i was.
func (a *Amount) fill(read uint32, from Amount) {
	for i, p := range [...]*int32{&a.GPUMilli, &a.CPUMilli, &a.MemMiB, &a.GPUMemMiB} {
		if read>>i&1 == 0 {
			*p = [...]int32{from.GPUMilli, from.CPUMilli, from.MemMiB, from.GPUMemMiB}[i]
		}
	}
}

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
