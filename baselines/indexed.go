package baselines

import (
	"strings"

	"github.com/clustergym/clustergym/baselines/index"
	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/objectives"
)

// indexed returns the rule for any objective.
func indexed() Baseline {
	return Baseline{
		"index", "by an objective: what a delay costs per GPU-hour of work left; stops jobs where that saves more than it costs",
		"The job goes first whose delay costs most, by the objective, for each GPU-hour that it still needs. A running job is stopped" +
			" only if that saves `stops` times what it costs, and GPUs are held for the first job that finds no room if that saves" +
			" `holds` times what it costs. Where power has a tariff, a job waits for a cheaper hour if that pays.",
		"generalised c-mu rule (van Mieghem, 1995; Mandelbaum and Stolyar, 2004), with deadlines apparent tardiness cost" +
			" (Vepsalainen and Morton, 1987); when jobs are stopped, GPUs held or cheaper hours awaited is an own choice",
		"estimates, or what +know predicts; the objective of the evaluation, or completion",
		declareIndex,
	}
}

func declareIndex(s *Settings) maker {
	opts, name := index.Defaults(), ""
	var objective *objectives.Objective
	s.Text(&name, "objective", "a name of objective ls, or a YAML file without : in its path", func(text string) (err error) {
		if file := strings.HasSuffix(text, ".yaml"); file && s.Given == nil {
			s.Files = append(s.Files, text)
			return nil
		}
		objective, err = objectives.Open(text)
		return err
	}, "what to decide by, in place of the evaluation's first objective", "own")
	s.Float(&opts.Stops, "stops", 0, 1000, "how many times what it costs a stop has to save; 0 never stops a job", "own choice")
	s.Float(&opts.Holds, "holds", 0, 1000, "how many times what it costs it must save to hold GPUs for the first job that finds no"+
		" room; 0 never holds any", "own choice, by validation windows of Venus and of the generator's workload")
	placer := s.Placer("menu")
	s.Needs.Objective = true
	return func(name string) cluster.Scheduler {
		o := objective
		if o == nil && s.Given != nil {
			o = s.Given.Objective
		}
		if o == nil {
			o = objectives.Usual()
		}
		p, _ := placer()
		return index.New(name, o, opts, p)
	}
}
