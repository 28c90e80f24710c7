package all

import (
	"fmt"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
)

// heavyEdge is the name of A-SRPT's placer.
const heavyEdge = "heavy-edge"

const (
	needsModels = "nothing but what it learns from jobs that end (predictor=granted: estimates; predictor=fitted: a scenario's" +
		" training split); models tell it what jobs send"
	sourceASRPT     = "A-SRPT (Luo et al., INFOCOM 2025), of which the abstract alone could be read"
	sourceASRPTRule = sourceASRPT + "; the comparison set's names are the paper's, their meaning is reconstructed (75 to 80 %)"
)

// predicted returns A-SRPT and the orders that it is compared with. All of them take the same predictors and by default the same
// placer.
func predicted() []baselines.Baseline {
	return []baselines.Baseline{
		{
			Name: "a-srpt", About: "the order of a virtual single machine under preemptive SRPT, by predicted iterations (A-SRPT)",
			Rule: "Jobs run on a virtual single machine by preemptive shortest remaining processing time, and start on the cluster, not" +
				" preemptively, in the order in which they end there. A job that communicates much waits a while rather than be scattered.",
			Source: sourceASRPT + "; package baselines/asrpt marks what is reconstructed", Needs: needsModels,
			Declare: declareASRPT,
		},
		{
			Name: "spjf", About: "shortest predicted job first; a job that does not fit blocks the queue (A-SRPT's comparison set)",
			Rule:   "The waiting job with the shortest predicted duration starts first. One that does not fit blocks all behind it.",
			Source: sourceASRPTRule, Needs: needsModels,
			Declare: predictedOf((*asrpt.Durations).Predicted, false),
		},
		{
			Name:   "spwf",
			About:  "shortest predicted workload (GPU-time) first; a job that does not fit blocks the queue (A-SRPT's comparison set)",
			Rule:   "The waiting job with the least predicted GPU-time starts first. One that does not fit blocks all behind it.",
			Source: sourceASRPTRule, Needs: needsModels,
			Declare: predictedOf((*asrpt.Durations).Workload, false),
		},
		{
			Name: "wcs-duration", About: "work-conserving by predicted duration (A-SRPT's comparison set)",
			Rule:   "Waiting jobs start in the order of their predicted durations. One that does not fit is passed over.",
			Source: sourceASRPTRule, Needs: needsModels,
			Declare: predictedOf((*asrpt.Durations).Predicted, true),
		},
		{
			Name: "wcs-workload", About: "work-conserving by predicted workload (A-SRPT's comparison set)",
			Rule:   "Waiting jobs start in the order of their predicted GPU-time. One that does not fit is passed over.",
			Source: sourceASRPTRule, Needs: needsModels,
			Declare: predictedOf((*asrpt.Durations).Workload, true),
		},
		{
			Name: "wcs-subtime", About: "work-conserving by submission (A-SRPT's comparison set)",
			Rule:   "Waiting jobs start in the order of their submission, mapped as A-SRPT does. One that does not fit is passed over.",
			Source: sourceASRPTRule, Needs: needsModels,
			Declare: func(s *baselines.Settings) maker {
				placer := s.Placer(heavyEdge)
				return func(name string) cluster.Scheduler {
					p, _ := placer()
					return baselines.Order{Key: submission, Skip: true}.New(name, p)
				}
			},
		},
	}
}

// fitted is the value of the option predictor that stands for Given.Fitted.
const fitted = "fitted"

// predictor declares the option that chooses a predictor of iterations. It returns a function that returns the chosen one.
func predictor(s *baselines.Settings) func() asrpt.Predictor {
	kind := "forest"
	var p asrpt.Predictor = predict.NewForest(predict.DefaultForest())
	s.Text(&kind, "predictor", strings.Join(append(predict.Kinds(), fitted), ", "), func(text string) (err error) {
		switch {
		case text != fitted:
			p, err = predict.New(text)
		case s.Given.Fitted == nil:
			err = fmt.Errorf("%w; otherwise want a file that clustergym predictor fit wrote", baselines.ErrUnfitted)
		default:
			p = s.Given.Fitted()
		}
		return err
	}, "who predicts the iterations of a job: forest learns from jobs that end in the episode, fitted is a forest that eval and"+
		" headroom have trained on the scenario's training split before",
		"A-SRPT: random forest regression; its settings are own choices")
	return func() asrpt.Predictor { return p }
}

// submission returns the time at which a job was submitted.
func submission(s *cluster.View, id cluster.JobID) (time.Duration, error) {
	return s.Spec(id).Submit, nil
}

// predictedOf declares an order by a predicted property of jobs.
func predictedOf(
	key func(*asrpt.Durations, *cluster.View, cluster.JobID) time.Duration, skip bool,
) func(*baselines.Settings) maker {
	return func(s *baselines.Settings) maker {
		chosen := predictor(s)
		placer := s.Placer(heavyEdge)
		return func(name string) cluster.Scheduler {
			durations := asrpt.NewDurations(chosen())
			p, _ := placer()
			return baselines.Order{
				Key:  func(s *cluster.View, id cluster.JobID) (time.Duration, error) { return key(durations, s, id), nil },
				Skip: skip, Learn: durations,
			}.New(name, p)
		}
	}
}

func declareASRPT(s *baselines.Settings) maker {
	c := asrpt.Default()
	chosen := predictor(s)
	option.Choice(&s.Set, &c.Start, "start", asrpt.StartRules(),
		"when a job may start: once it has ended on the virtual machine, or at once in the projected order", "reconstructed (70 %)")
	option.Choice(&s.Set, &c.Backfill, "backfill", asrpt.Backfills(),
		"whether later jobs start when one does not fit: none, all that fit, or (easy) those that by predictions do not delay it",
		"reconstructed (60 %); easy is EASY backfilling (Lifka, JSSPP 1995), which the paper's abstract does not mention")
	option.Choice(&s.Set, &c.Work, "work", asrpt.Works(),
		"the time of an iteration on the virtual machine: on the best placement, the most scattered one, or their mean",
		"reconstructed (65 %)")
	s.Float(&c.Tau, "tau", 0, 1e6, "how long a job is held for a compact placement, in predicted durations; 0 switches the rule off",
		"own choice; the paper's value is unknown")
	s.Float(&c.Theta, "theta", 1, 1e6, "the slowdown by scattering from which on a job communicates much",
		"own choice; the paper's is unknown")
	s.Float(&c.Epsilon, "epsilon", 0, 1e6, "how much slower than the best placement is good enough",
		"own choice; the paper's is unknown")
	s.Bool(&c.Overtake, "overtake", "whether later jobs start while one is held", "reconstructed (55 %)")
	s.Float(&c.Comm.Intra, "intra", 1e-3, 1e6, "GB/s of a GPU to the others of its server, for the delay rule", "own choice")
	s.Float(&c.Comm.NIC, "nic", 1e-3, 1e6, "GB/s of a server, for the delay rule", "own choice")
	placer := s.Placer(heavyEdge)
	return func(name string) cluster.Scheduler {
		made := c
		made.Predictor = chosen()
		made.Placer, _ = placer()
		return asrpt.New(name, made)
	}
}
