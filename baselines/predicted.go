package baselines

import (
	"time"

	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
)

const (
	needsModels     = "nothing but what it learns from jobs that end (predictor=granted: estimates); models tell it what jobs send"
	sourceASRPT     = "A-SRPT (Luo et al., INFOCOM 2025), of which the abstract alone could be read"
	sourceASRPTRule = sourceASRPT + "; the comparison set's names are the paper's, their meaning is reconstructed (75 to 80 %)"
)

// predicted returns A-SRPT and the orders that it is held against; all predict with the same predictors and map with the same
// placer.
func predicted() []Baseline {
	return []Baseline{
		{
			"a-srpt", "the order of a virtual single machine under preemptive SRPT, by predicted iterations (A-SRPT)",
			"Jobs run on a virtual single machine by preemptive shortest remaining processing time, and start on the cluster, not" +
				" preemptively, in the order in which they end there. A job that communicates much waits a while rather than be scattered.",
			sourceASRPT + "; package baselines/asrpt marks what is reconstructed", needsModels,
			declareASRPT,
		},
		{
			"spjf", "shortest predicted job first; a job that does not fit blocks the queue (A-SRPT's comparison set)",
			"The waiting job with the shortest predicted duration starts first. One that does not fit blocks all behind it.",
			sourceASRPTRule, needsModels, predictedOf((*asrpt.Durations).Predicted, false),
		},
		{
			"spwf", "shortest predicted workload (GPU-time) first; a job that does not fit blocks the queue (A-SRPT's comparison set)",
			"The waiting job with the least predicted GPU-time starts first. One that does not fit blocks all behind it.",
			sourceASRPTRule, needsModels, predictedOf((*asrpt.Durations).Workload, false),
		},
		{
			"wcs-duration", "work-conserving by predicted duration (A-SRPT's comparison set)",
			"Waiting jobs start in the order of their predicted durations. One that does not fit is passed over.",
			sourceASRPTRule, needsModels, predictedOf((*asrpt.Durations).Predicted, true),
		},
		{
			"wcs-workload", "work-conserving by predicted workload (A-SRPT's comparison set)",
			"Waiting jobs start in the order of their predicted GPU-time. One that does not fit is passed over.",
			sourceASRPTRule, needsModels, predictedOf((*asrpt.Durations).Workload, true),
		},
		{
			"wcs-subtime", "work-conserving by submission (A-SRPT's comparison set)",
			"Waiting jobs start in the order of their submission, mapped as A-SRPT does. One that does not fit is passed over.",
			sourceASRPTRule, needsModels, func(s *settings) maker {
				return s.list(&list{order: bySubmit, skip: true}, heavyEdge)
			},
		},
	}
}

// predictor declares the option that chooses a predictor of iterations, and returns what gives the chosen one.
func (s *settings) predictor() func() predict.Predictor {
	kind, p := "forest", predict.NewForest(predict.DefaultForest())
	s.Text(&kind, "predictor", oneOf(predict.Kinds()), func(text string) (err error) {
		p, err = predict.New(text)
		return err
	}, "who predicts the iterations of a job", "A-SRPT: random forest regression; its settings are own choices")
	return func() predict.Predictor { return p }
}

func predictedOf(key func(*asrpt.Durations, *cluster.State, cluster.JobID) time.Duration, skip bool) func(*settings) maker {
	return func(s *settings) maker {
		predictor := s.predictor()
		placer := s.placer(heavyEdge)
		return func(name string) cluster.Scheduler {
			durations := asrpt.NewDurations(predictor())
			l := &list{name: name, skip: skip, learn: durations}
			l.order = func(s *cluster.State, id cluster.JobID) (time.Duration, error) { return key(durations, s, id), nil }
			l.place, _ = placer()
			return l
		}
	}
}

func declareASRPT(s *settings) maker {
	c := asrpt.Default()
	predictor := s.predictor()
	option.Choice(&s.Set, &c.Start, "start", asrpt.StartRules(),
		"when a job may start: once it has ended on the virtual machine, or at once in the projected order", "reconstructed (70 %)")
	s.Bool(&c.Backfill, "backfill", "whether later jobs start when one does not fit", "reconstructed (60 %)")
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
	placer := s.placer(heavyEdge)
	return func(name string) cluster.Scheduler {
		made := c
		made.Predictor = predictor()
		made.Placer, _ = placer()
		return asrpt.New(name, made)
	}
}
