package slurmtext

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
)

const gpu = "gpu"

// Resource is an amount of a generic resource, such as gpu:a100:4(IDX:0-2,5).
type Resource struct {
	Name, Type string // Type is "" if not stated
	Count      int64
	Indices    []int32 // of the devices that are in use; nil if not stated
	NoConsume  bool    // jobs use it without holding it
	tres       bool    // counted as a TRES, as in gres/gpu=4
}

// parseResource parses one resource. One without a count counts as many as it has indices, or as one.
func parseResource(one string, mostIndices int) (r Resource, err error) {
	refused := fmt.Errorf("a resource such as gpu:a100:8, not %q", Shorten(one))
	what, err := r.details(one, mostIndices)
	if err != nil {
		return Resource{}, err
	}
	what = strings.TrimPrefix(strings.TrimPrefix(what, "gres/"), "gres:")
	var value string
	if what, value, r.tres = strings.Cut(what, "="); r.tres {
		refused = fmt.Errorf("an amount such as cpu=16, mem=64G or gres/gpu=2, not %q", Shorten(one))
		what += ":" + value
	}
	parts := strings.Split(what, ":")
	r.Name, r.Count = strings.ToLower(parts[0]), max(int64(len(r.Indices)), 1)
	parts = parts[1:]
	counted := false
	if n := len(parts); n > 0 {
		if r.Count, counted = count(parts[n-1], r.Count); counted {
			parts = parts[:n-1]
		}
	}
	if r.tres && !counted || r.Name == "" {
		return Resource{}, refused
	}
	if n := len(parts); n > 0 && parts[n-1] == "no_consume" {
		r.NoConsume, parts = true, parts[:n-1]
	}
	if len(parts) > 0 {
		r.Type = parts[0]
	}
	if len(parts) > 1 && r.Name == gpu {
		return Resource{}, refused
	}
	return r, nil
}

// details takes what is in brackets out of a resource: (null) for a type that is not known, (IDX:0-2) for the devices in use,
// (2/4,0/4) for the parts of each device in use, and others, such as the sockets (S:0-1), that say nothing of interest.
func (r *Resource) details(one string, mostIndices int) (what string, err error) {
	for {
		before, rest, found := strings.Cut(one, "(")
		what += before
		if !found {
			return what, nil
		}
		var detail string
		if detail, one, found = strings.Cut(rest, ")"); !found {
			one = ""
		}
		index, isIndex := strings.CutPrefix(detail, "IDX:")
		switch {
		case isIndex && index != "N/A" && index != "":
			numbers, err := ExpandRanges(index, mostIndices)
			if err != nil {
				return "", err
			}
			for _, n := range numbers {
				i, _ := strconv.Atoi(n) // digits only
				r.Indices = append(r.Indices, int32(i))
			}
		case strings.Contains(detail, "/") && !isIndex:
			for i, part := range strings.Split(detail, ",") {
				if used, _, _ := strings.Cut(part, "/"); i < mostIndices && strings.Trim(used, "0") != "" {
					r.Indices = append(r.Indices, int32(i))
				}
			}
		}
	}
}

// nothing reports whether Slurm means no resources or hosts at all.
func nothing(s string) bool {
	switch strings.ToLower(strings.TrimSpace(s)) {
	case "", "(null)", "n/a", "none", "none assigned":
		return true
	}
	return false
}

// count parses at most nine digits and a suffix such as K. If there are none, it returns the parameter otherwise and false.
func count(s string, otherwise int64) (n int64, ok bool) {
	const most = 1 << 40
	unit := int64(1)
	if n := len(s); n > 1 && suffix(s[n-1]) > 0 {
		unit, s = suffix(s[n-1]), s[:n-1]
	}
	n, err := Digits(s)
	if err != nil || n > most/unit {
		return otherwise, false
	}
	return n * unit, true
}

// suffix returns what a letter after a number multiplies it by, or 0.
func suffix(c byte) int64 {
	i := strings.IndexByte("KMGTP", c&^0x20)
	if i < 0 {
		return 0
	}
	return 1 << (10 * (i + 1))
}

// scaled parses a decimal number such as 1.50 and returns its product with unit, rounded up, at most the parameter most.
func scaled(s string, unit, most int64) (n int64, ok bool) {
	const longest = 40
	if len(s) > longest || strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	x, ok := new(big.Rat).SetString(s)
	if !ok {
		return 0, false
	}
	x.Mul(x, new(big.Rat).SetInt64(unit))
	whole, rest := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if whole.Cmp(big.NewInt(most)) > 0 {
		return most, true
	}
	return whole.Int64(), true
}
