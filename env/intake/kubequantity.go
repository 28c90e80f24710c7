package intake

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/strictjson"
)

// Upper limits of quantities; larger ones are cut, so that no sum over a cluster overflows.
const (
	mostCPUMilli = 1 << 40
	mostBytes    = 1 << 50 // in a pod; 1 PiB
)

// suffixes maps the suffixes of Kubernetes quantities to bases and exponents.
var suffixes = map[string][2]int64{
	"n": {10, -9}, "u": {10, -6}, "m": {10, -3}, "": {10, 0}, "k": {10, 3}, "M": {10, 6}, "G": {10, 9}, "T": {10, 12}, "P": {10, 15},
	"E": {10, 18}, "Ki": {2, 10}, "Mi": {2, 20}, "Gi": {2, 30}, "Ti": {2, 40}, "Pi": {2, 50}, "Ei": {2, 60},
}

// parseQuantity parses a Kubernetes quantity such as 500m, 64Gi, 0.5 or 1e3 and returns the product with scale, rounded up and at
// most the parameter most. ok is false for text that is no quantity from 0 on.
func parseQuantity(s string, scale, most int64) (n int64, exact, ok bool) {
	const longest = 40 // digits; and an exponent has at most two
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	number, suffix := s[:end], s[end:]
	by, known := suffixes[suffix]
	if !known && len(suffix) > 1 && (suffix[0] == 'e' || suffix[0] == 'E') {
		e, err := strconv.ParseInt(suffix[1:], 10, 64)
		by, known = [2]int64{10, e}, err == nil && e > -100 && e < 100
	}
	x, valid := new(big.Rat).SetString(number)
	if !known || len(number) > longest || !valid {
		return 0, false, false
	}
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(by[0]), big.NewInt(max(by[1], -by[1])), nil))
	if by[1] < 0 {
		factor.Inv(factor)
	}
	x.Mul(x, factor).Mul(x, new(big.Rat).SetInt64(scale))
	whole, rest := new(big.Int).QuoRem(x.Num(), x.Denom(), new(big.Int))
	exact = rest.Sign() == 0
	if !exact {
		whole.Add(whole, big.NewInt(1))
	}
	if whole.Cmp(big.NewInt(most)) > 0 {
		return most, exact, true
	}
	return whole.Int64(), exact, true
}

// quantity reads a quantity, which may be text or a number.
func quantity(r *strictjson.Reader, scale, most int64) (n int64, exact bool) {
	s := string(r.Numeral())
	if s == "" {
		s, _ = r.String(names.Longest)
	}
	n, exact, ok := parseQuantity(s, scale, most)
	if !ok {
		r.Refuse("a quantity such as 8, 500m or 64Gi")
	}
	return n, exact
}

// amounts are resources that a pod requests or a node has.
type amounts struct {
	gpus, cpuMilli, memBytes  int64
	saysGPU, saysCPU, saysMem bool
	some                      bool       // something is named
	others                    []resource // further resources with a slash in their names, above 0
}

// amounts reads a list of resources.
func (c *Kubectl) amounts(r *strictjson.Reader) (a amounts) {
	r.Map(mostEntries, func(name string) {
		a.some = true
		switch {
		case name == c.GPU:
			exact := false
			a.saysGPU = true
			if a.gpus, exact = quantity(r, 1, cluster.MaxGPUs+1); !exact || a.gpus > cluster.MaxGPUs {
				r.Bad("", strconv.Quote(name), fmt.Sprintf("a whole number of GPUs from 0 to %d", cluster.MaxGPUs))
			}
		case name == "cpu":
			a.cpuMilli, _ = quantity(r, 1000, mostCPUMilli)
			a.saysCPU = true
		case name == "memory":
			a.memBytes, _ = quantity(r, 1, mostBytes)
			a.saysMem = true
		case strings.Contains(name, "/"):
			if n, _ := quantity(r, 1, mostBytes); n > 0 && names.OK(name) {
				a.others = append(a.others, resource{name, n})
			}
		default:
			r.Skip()
		}
	})
	return a
}

// usage is what pods use of GPUs, if known.
type usage struct {
	gpus  int64
	known bool
}

func (c *Kubectl) usage(r *strictjson.Reader) (u usage) {
	r.Map(mostEntries, func(resource string) {
		if u.known = true; resource == c.GPU {
			u.gpus, _ = quantity(r, 1, mostQuota)
		} else {
			r.Skip()
		}
	})
	return u
}

// add adds the resources of another part of the same pod.
func (a *amounts) add(b amounts) {
	a.gpus, a.cpuMilli, a.memBytes = a.gpus+b.gpus, a.cpuMilli+b.cpuMilli, a.memBytes+b.memBytes
	a.says(b)
}

// atLeast raises each resource to that of b.
func (a *amounts) atLeast(b amounts) {
	a.gpus, a.cpuMilli, a.memBytes = max(a.gpus, b.gpus), max(a.cpuMilli, b.cpuMilli), max(a.memBytes, b.memBytes)
	a.says(b)
}

func (a *amounts) says(b amounts) {
	a.saysGPU, a.saysCPU, a.saysMem = a.saysGPU || b.saysGPU, a.saysCPU || b.saysCPU, a.saysMem || b.saysMem
	a.others = append(a.others, b.others...)
}

// orElse sets the requests that a container does not state to its limits, as the API server does.
func (a *amounts) orElse(limit amounts) {
	if !a.saysGPU {
		a.gpus = limit.gpus
	}
	if !a.saysCPU {
		a.cpuMilli = limit.cpuMilli
	}
	if !a.saysMem {
		a.memBytes = limit.memBytes
	}
	a.says(limit)
}

// wholly sets CPU and memory to what the pod as a whole requests. Its limits count where neither the pod nor a container states a
// request.
func (a *amounts) wholly(request, limit amounts) {
	if request.saysCPU {
		a.cpuMilli = request.cpuMilli
	} else if !a.saysCPU && limit.saysCPU {
		a.cpuMilli = limit.cpuMilli
	}
	if request.saysMem {
		a.memBytes = request.memBytes
	} else if !a.saysMem && limit.saysMem {
		a.memBytes = limit.memBytes
	}
}
