package pods

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Fraction is what a pod of KAI Scheduler asks for on GPUs that it shares. Such a pod requests no GPU resource: on the node of a
// running one a reservation pod does, and labels name the GPUs that it shares with other pods.
type Fraction struct {
	Milli   int32    // thousandths of each GPU, 1 to 1,000; 0 if the pod asks for memory, or for something that Err is about
	Devices int32    // GPUs, at least 1
	Memory  string   // what it asks for in MiB of each GPU, "" if it asks for a part of it
	Shared  []string // the names of the GPUs that it has, sorted
	Err     error    // what is wrong with the annotations
}

// mostDevices is the most GPUs of a pod.
const mostDevices = 1 << 14

// FractionOf returns what a pod asks for on shared GPUs; ok is false if it asks for no such thing.
func FractionOf(p *Pod) (f Fraction, ok bool) {
	part, parted := p.Annotations[fractionNote]
	memory, some := p.Annotations[memoryNote]
	if !parted && !some {
		return f, false
	}
	f.Devices = 1
	if value, said := p.Annotations[devicesNote]; said {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil || n < 1 || n > mostDevices {
			f.Err = fmt.Errorf("annotation %s is %.100q, want a whole number from 1 to %d", devicesNote, value, mostDevices)
		} else {
			f.Devices = int32(n)
		}
	}
	if parted {
		x, err := strconv.ParseFloat(part, 64)
		if err != nil || !(x > 0 && x <= 1) { // also not a number
			f.Err = fmt.Errorf("annotation %s is %.100q, want a number above 0 and up to 1", fractionNote, part)
		} else {
			f.Milli = int32(math.Ceil(x*1000 - 1e-9))
		}
	} else {
		f.Memory = memory
	}
	for key, value := range p.Labels {
		if name, many := strings.CutPrefix(key, manySharedPrefix); many || key == sharedLabel {
			if value == "" && many {
				value = name
			}
			f.Shared = append(f.Shared, value)
		}
	}
	slices.Sort(f.Shared)
	f.Shared = slices.DeleteFunc(slices.Compact(f.Shared), func(s string) bool { return s == "" })
	return f, true
}

// Reserves reports whether a pod of KAI Scheduler holds a whole GPU for other pods that share it, and the name of this GPU, "" if
// it does not say.
func Reserves(p *Pod) (gpu string, ok bool) {
	const old, now = "runai-reservation", "kai-resource-reservation"
	ok = p.Namespace == old || p.Namespace == now || p.Labels[appLabel] == old || p.Labels[appLabel] == now
	return p.Labels[sharedLabel], ok
}
