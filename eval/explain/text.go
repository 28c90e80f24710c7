package explain

import (
	"fmt"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/phrase"
)

// need formats what a job asks for: "8 GPUs", "2 GPU shares of 500/1000".
func need(spec *cluster.JobSpec) string {
	if spec.Request.GPUMilli == cluster.WholeGPU {
		return phrase.Count(spec.Workers, "GPU")
	}
	return fmt.Sprintf("%s of %d/%d", phrase.Count(spec.Workers, "GPU share"), spec.Request.GPUMilli, cluster.WholeGPU)
}

// gpus formats thousandths of GPUs as a number of GPUs: "1 GPU", "2.5 GPUs".
func gpus(milli int64) string {
	if milli%cluster.WholeGPU == 0 {
		return phrase.Count(milli/cluster.WholeGPU, "GPU")
	}
	return fmt.Sprintf("%g GPUs", float64(milli)/cluster.WholeGPU)
}

// several formats a list of names: "a", "a and b", "a and 3 more".
func several(names []string) string {
	switch len(names) {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	case 2:
		return names[0] + " and " + names[1]
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

func ordinal(n int) string {
	suffix := "th"
	switch {
	case n == 1:
		return "first"
	case n%100/10 == 1:
	case n%10 == 1:
		suffix = "st"
	case n%10 == 2:
		suffix = "nd"
	case n%10 == 3:
		suffix = "rd"
	}
	return fmt.Sprintf("%d%s", n, suffix)
}
