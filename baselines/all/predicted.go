package all

import (
	"strings"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
)

const (
	needsModels = "nothing but what it learns from jobs that end (predictor=granted: estimates; predictor=fitted: a scenario's" +
		" training split); models tell it what jobs send"
	sourceASRPT = "A-SRPT (Luo et al., INFOCOM 2025), of which the abstract alone could be read"
)

// predicts returns A-SRPT.
func predicts() baselines.Baseline {
	return baselines.Baseline{
		Name: "a-srpt", About: "the order of a virtual single machine under preemptive SRPT, by predicted iterations (A-SRPT)",
		Rule: "Jobs run on a virtual single machine by preemptive shortest remaining processing time, and start on the cluster, not" +
			" preemptively, in the order in which they end there. A job that communicates much waits a while rather than be scattered.",
		Source: sourceASRPT + "; package baselines/asrpt marks what is reconstructed", Needs: needsModels,
		Declare: declareASRPT,
	}
}

// fitted is the value of the option predictor that stands for Given.Fitted.
const fitted = "fitted"

// predictor declares the option that chooses a predictor of iterations. It returns a function that returns the chosen one.
func predictor(s *baselines.Settings) func() asrpt.Predictor {
	kind := "forest"
	var p asrpt.Predictor = predict.NewForest(predict.DefaultForest())
	s.Text(&kind, "predictor", strings.Join(append(predict.Kinds(), fitted), ", "), func(text string) (err error) {
		file := strings.HasSuffix(text, option.FileExtension)
		switch {
		case text == fitted && s.Given == nil:
			s.Needs.Fitted = true
		case text == fitted:
			p = s.Given.Fitted()
		case file && s.Given == nil:
			s.Files = append(s.Files, text)
		default:
			p, err = predict.New(text)
		}
		return err
	}, "who predicts the iterations of a job: forest learns from jobs that end in the episode, fitted is a forest that eval has"+
		" trained on the scenario's training split before",
		"A-SRPT: random forest regression; its settings are own choices")
	return func() asrpt.Predictor { return p }
}

func declareASRPT(s *baselines.Settings) maker {
	c := asrpt.Default()
	chosen := predictor(s)
	option.Choice(&s.Set, &c.Start, "start", asrpt.StartRules(),
		"when a job may start: once it has ended on the virtual machine, or at once in the projected order", "reconstructed (70 %)")
	option.Choice(&s.Set, &c.Backfill, "backfill", asrpt.Backfills(),
		"whether later jobs start when one does not fit: none, all that fit, or (easy) those that by predictions do not delay it",
		"reconstructed (60 %); easy is EASY backfilling (Lifka, JSSPP 1995), which the paper's abstract does not mention")
	s.Float(&c.Tau, "tau", 0, 1e6, "how long a job is held for a compact placement, in predicted durations; 0 switches the rule off",
		"own choice; the paper's value is unknown")
	s.Gone("work", "overtake", "theta", "epsilon", "intra", "nic")
	placer := s.Placer("heavy-edge")
	return func(name string) cluster.Scheduler {
		made := c
		made.Predictor = chosen()
		made.Placer, _ = placer()
		return asrpt.New(name, made)
	}
}
