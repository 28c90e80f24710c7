package slurmtext

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Amounts is what a text says that a node has, or that a job asks for or holds.
type Amounts struct {
	CPUMilli, MemBytes int64
	Resources          []Resource // generic ones, in the order of the text
}

// The most that Amounts contains; larger amounts are cut, so that no sum over a cluster overflows.
const (
	mostCPUMilli = 1 << 40
	mostMemBytes = 1 << 50
)

// Parse reads resources separated by commas, in any of Slurm's spellings: gpu:a100:8(S:0-1), gres:gpu:2, gres/gpu:a100=4,
// mem=1.50G. Text for "nothing" (empty, (null), N/A) gives none. It skips what no reader here needs, such as billing and
// licenses. A list of indices may contain at most mostIndices numbers.
func Parse(s string, mostIndices int) (a Amounts, err error) {
	if nothing(s) {
		return a, nil
	}
	for _, one := range Split(s) {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		what, value, isTres := strings.Cut(one, "=")
		ok := true
		switch name := strings.ToLower(what); {
		case isTres && name == "cpu":
			a.CPUMilli, ok = scaled(value, 1000, mostCPUMilli)
		case isTres && name == "mem":
			a.MemBytes, ok = memory(value)
		case isTres && name != gpu && !strings.HasPrefix(name, gpu+":") && !strings.HasPrefix(name, "gres/"):
		default:
			var r Resource
			if r, err = parseResource(one, mostIndices); err != nil {
				return Amounts{}, err
			}
			a.Resources = append(a.Resources, r)
		}
		if !ok {
			return Amounts{}, refused(anAmount, one)
		}
	}
	return a, nil
}

const anAmount = "an amount such as cpu=16, mem=64G or gres/gpu=2"

func refused(want, found string) error { return fmt.Errorf("%s, not %q", want, Shorten(found)) }

// GPUs adds up the GPUs. kind is their type, or "" if there are several or it is not known. indices is nil unless there is one
// for each GPU. TRES count GPUs of a type a second time among those of any type (gres/gpu=4,gres/gpu:a100=4), GRES do not.
func (a *Amounts) GPUs() (count int64, kind string, indices []int32) {
	several := false
	var all, typed int64 // of TRES
	for _, r := range a.Resources {
		if r.Name != gpu {
			continue
		}
		switch {
		case r.tres && r.Type == "":
			all = max(all, r.Count)
			continue
		case r.tres:
			several = several || typed > 0 && kind != r.Type
			typed += r.Count
		default:
			several = several || count > 0 && kind != r.Type
			count += r.Count
		}
		if r.Count > 0 {
			kind = r.Type
		}
		indices = append(indices, r.Indices...)
	}
	if several || all > typed && typed > 0 {
		kind = ""
	}
	count += max(all, typed)
	if int64(len(indices)) != count {
		indices = nil
	}
	return count, kind, indices
}

// Shares lists the resources by which several jobs share a GPU, shards and MPS, with amounts above 0.
func (a *Amounts) Shares() (shares []Resource) {
	for _, r := range a.Resources {
		if (r.Name == "shard" || r.Name == "mps") && r.Count > 0 {
			shares = append(shares, r)
		}
	}
	return shares
}

// divided is what the types of GPUs contain that stand for an instance of a divided GPU.
var divided = regexp.MustCompile(`(?i)\d+g\.\d+gb`)

// Divided reports whether a type of GPUs stands for an instance of a divided GPU (MIG), as a100_1g.5gb does.
func Divided(kind string) bool { return divided.MatchString(kind) }

// Others lists the names of the generic resources other than GPUs with amounts above 0, each once.
func (a *Amounts) Others() (names []string) {
	for _, r := range a.Resources {
		if r.Name != gpu && r.Count > 0 && !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	return names
}

// memory parses an amount of memory such as 64G or 1.50T. Without a unit it is in MiB.
func memory(s string) (bytes int64, ok bool) {
	unit := int64(1 << 20)
	if n := len(s); n > 0 {
		if by := suffix(s[n-1]); by > 0 {
			unit, s = by, s[:n-1]
		}
	}
	return scaled(s, unit, mostMemBytes)
}
