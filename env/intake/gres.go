package intake

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
)

// gres is an amount of a generic resource of Slurm, such as gpu:a100:4(IDX:0-2,5).
type gres struct {
	name, kind string
	count      int64
	indices    []int32 // nil if not stated
}

// The errors of this package's parsers say what was expected and what was found, to follow the word "want".

// parseGres parses resources as in "gpu:a100:8(S:0-1),shard:16" or "gres/gpu:2". A resource without a count counts as one.
func parseGres(s string) (all []gres, err error) {
	if s == "(null)" || s == "N/A" {
		return nil, nil
	}
	for _, one := range split(s) {
		if one == "" {
			continue
		}
		what, detail, _ := strings.Cut(one, "(")
		what = strings.TrimPrefix(strings.TrimPrefix(what, "gres/"), "gres:")
		parts := strings.Split(what, ":")
		g := gres{name: parts[0], count: 1}
		last := parts[len(parts)-1]
		if n, err := digits(last); err == nil && len(parts) > 1 {
			g.count, parts = n, parts[:len(parts)-1]
		}
		if len(parts) > 1 {
			g.kind = parts[1]
		}
		if g.name == "" || len(parts) > 2 {
			return nil, fmt.Errorf("a resource such as gpu:a100:8, not %q", shorten(one))
		}
		if index, found := strings.CutPrefix(strings.TrimSuffix(detail, ")"), "IDX:"); found && index != "N/A" && index != "" {
			numbers, err := expandRanges(index, cluster.MaxGPUs)
			if err != nil {
				return nil, err
			}
			for _, n := range numbers {
				i, _ := strconv.Atoi(n) // digits only
				g.indices = append(g.indices, int32(i))
			}
		}
		all = append(all, g)
	}
	return all, nil
}

// gpusOf adds up the GPUs among resources. kind is their type, or "" if there are several or it is not known. indices is nil
// unless there is one for each GPU.
func gpusOf(all []gres) (count int64, kind string, indices []int32) {
	several := false
	for _, g := range all {
		if g.name != "gpu" {
			continue
		}
		several = several || count > 0 && kind != g.kind
		count, kind, indices = count+g.count, g.kind, append(indices, g.indices...)
	}
	if several {
		kind = ""
	}
	if int64(len(indices)) != count {
		indices = nil
	}
	return count, kind, indices
}

// tres is what a job requests or holds in all, as in "cpu=16,mem=64G,node=1,billing=16,gres/gpu=2,gres/gpu:a100=2".
type tres struct {
	cpuMilli, memBytes, gpus int64
	kind                     string   // type of the GPUs, "" if not stated or several
	others                   []string // generic resources other than GPUs
}

func parseTres(s string) (t tres, err error) {
	var typed []gres
	for one := range strings.SplitSeq(s, ",") {
		if one == "" {
			continue
		}
		what, value, _ := strings.Cut(one, "=")
		resource, generic := strings.CutPrefix(what, "gres/")
		ok := true
		switch {
		case what == "cpu":
			t.cpuMilli, _, ok = parseQuantity(value, 1000, mostCPUMilli)
		case what == "mem":
			t.memBytes, ok = parseMem(value)
		case generic && resource == "gpu":
			t.gpus, err = digits(value)
		case generic && strings.HasPrefix(resource, "gpu:"):
			var n int64
			n, err = digits(value)
			typed = append(typed, gres{name: "gpu", kind: strings.TrimPrefix(resource, "gpu:"), count: n})
		case generic:
			t.others = append(t.others, what)
		}
		if err != nil || !ok {
			return tres{}, fmt.Errorf("an amount such as cpu=16, mem=64G or gres/gpu=2, not %q", shorten(one))
		}
	}
	n, kind, _ := gpusOf(typed)
	t.gpus, t.kind = max(t.gpus, n), kind
	return t, nil
}

// parseMem parses an amount of memory such as 64G or 1.50T. Without a unit it is in MiB.
func parseMem(s string) (bytes int64, ok bool) {
	switch last := strings.TrimLeft(s, "0123456789."); last {
	case "":
		s += "Mi"
	case "K", "M", "G", "T", "P":
		s += "i"
	default:
		return 0, false
	}
	bytes, _, ok = parseQuantity(s, 1, mostBytes)
	return bytes, ok
}
