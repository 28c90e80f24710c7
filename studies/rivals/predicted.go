package rivals

import (
	"math"
	"strings"
	"time"

	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/baselines/asrpt"
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/predict"
	"github.com/clustergym/clustergym/env/cluster"
)

const (
	needsNothing = "nothing of a job but its request"
	needsModels  = "nothing but what it learns from jobs that end (predictor=granted: estimates); models tell it what jobs send"
	sourceASRPT  = "A-SRPT (Luo et al., INFOCOM 2025), of which the abstract alone could be read; the comparison set's names " +
		"are the paper's, their meaning is reconstructed (75 to 80 %)"
)

// predicted returns the orders that A-SRPT is compared with. All of them take A-SRPT's predictors and by default its placer.
func predicted() []baselines.Baseline {
	const (
		blocks = " first. One that does not fit blocks all behind it."
		skips  = ". One that does not fit is passed over."
	)
	describe := func(name, about, rule string, by key, skip bool) baselines.Baseline {
		return baselines.Baseline{
			Name: name, About: about + " (A-SRPT's comparison set)", Rule: rule, Source: sourceASRPT, Needs: needsModels,
			Declare: declare(by, skip),
		}
	}
	return []baselines.Baseline{
		describe("spjf", "shortest predicted job first", "The waiting job with the shortest predicted duration starts"+blocks,
			(*asrpt.Durations).Predicted, false),
		describe("spwf", "shortest predicted workload (GPU-time) first",
			"The waiting job with the least predicted GPU-time starts"+blocks, workload, false),
		describe("wcs-duration", "work-conserving by predicted duration",
			"Waiting jobs start in the order of their predicted durations"+skips, (*asrpt.Durations).Predicted, true),
		describe("wcs-workload", "work-conserving by predicted workload",
			"Waiting jobs start in the order of their predicted GPU-time"+skips, workload, true),
		describe("wcs-subtime", "work-conserving by submission",
			"Waiting jobs start in the order of their submission, mapped as A-SRPT does"+skips, nil, true),
	}
}

// workload returns the predicted GPU-time of a job.
func workload(d *asrpt.Durations, s *cluster.View, id cluster.JobID) time.Duration {
	const most = 1 << 60 // sums of a few do not overflow
	return time.Duration(min(max(math.Round(d.Predicted(s, id).Seconds()*s.Spec(id).GPUs()*float64(time.Second)), 1), most))
}

// declare declares an order by a predicted property of jobs, or by submission if by is nil.
func declare(by key, skip bool) func(*baselines.Settings) func(string) cluster.Scheduler {
	return func(s *baselines.Settings) func(string) cluster.Scheduler {
		var predictor asrpt.Predictor = predict.NewForest(predict.DefaultForest())
		if by != nil {
			kind := "forest"
			s.Text(&kind, "predictor", strings.Join(predict.Kinds(), ", "), func(text string) (err error) {
				if s.Given == nil && strings.HasSuffix(text, option.FileExtension) {
					s.Files = append(s.Files, text)
					return nil
				}
				predictor, err = predict.New(text)
				return err
			}, "who predicts the iterations of a job", "A-SRPT: random forest regression; its settings are own choices")
		}
		placer := s.Placer("heavy-edge")
		return func(name string) cluster.Scheduler {
			place, _ := placer()
			o := &order{name: name, skip: skip, place: place}
			if by != nil {
				o.durations, o.key = asrpt.NewDurations(predictor), by
			}
			return o
		}
	}
}
