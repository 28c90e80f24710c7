package slurmtext

import (
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
	want := "a resource such as gpu:a100:8"
	what, err := r.details(one, mostIndices)
	if err != nil {
		return Resource{}, err
	}
	what = strings.TrimPrefix(strings.TrimPrefix(what, "gres/"), "gres:")
	var value string
	if what, value, r.tres = strings.Cut(what, "="); r.tres {
		want = anAmount
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
		return Resource{}, refused(want, one)
	}
	if n := len(parts); n > 0 && parts[n-1] == "no_consume" {
		r.NoConsume, parts = true, parts[:n-1]
	}
	if len(parts) > 0 {
		r.Type = parts[0]
	}
	if len(parts) > 1 && r.Name == gpu {
		return Resource{}, refused(want, one)
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

// scaled parses a decimal number such as 1.50 and returns its product with unit, rounded up, at most the parameter most, which is
// at most 2^50. Digits beyond the third decimal do not count.
func scaled(s string, unit, most int64) (n int64, ok bool) {
	const longest, decimals = 40, 3
	whole, frac, _ := strings.Cut(s, ".")
	if s == "" || s == "." || len(s) > longest || strings.Trim(whole+frac, "0123456789") != "" {
		return 0, false
	}
	whole, frac = strings.TrimLeft(whole, "0"), (frac + "000")[:decimals]
	if len(whole) > 15 { // every unit makes it more than most
		return most, true
	}
	w, _ := strconv.ParseInt("0"+whole, 10, 64) // digits only
	f, _ := strconv.ParseInt(frac, 10, 64)
	if w > most/unit {
		return most, true
	}
	return min(w*unit+(f*unit+999)/1000, most), true
}
