package reproduce

import (
	"fmt"
)

// lyraAbout describes the experiments and how they differ from the paper.
func lyraAbout(o LyraOptions) []string {
	paragraphs := []string{
		fmt.Sprintf(`**Size.** %d days, %d jobs, %d servers of 8 V100 that train, %d servers of 8 T4 that serve. The
paper names 4,160 GPUs of inference; that they stand in servers of 8 is inferred. Schedulers here decide at
once whenever something happens, so medians of queueing are near 0 where the paper's are one round of its scheduler.`,
			lyraDays, o.Scale.of(LyraJobs), o.Scale.of(lyraTraining), o.Scale.of(lyraInference)),
		fmt.Sprintf(`**Workload.** Generated: the paper's trace is not public. From the paper are the number of jobs,
the share of elastic ones (%g %% of the jobs, %g %% of the GPU-time, mean running time 14.2 h), of fungible ones (%g
%%) and of heterogeneous ones (%g %%). Sizes of gangs, run times and bursts of arrivals are free; they were set by hand,
in several rounds, so that FIFO resembles row 1 of Table 5 on seed %d, with a load of %g, and then left. Between
rounds rows of Lyra
were seen too, so they are no blind test. Both kinds of jobs are stretched to bring exactly their
share of the load under every seed. What row 1 has and no calibration reached: a 95th percentile of queueing of only
2.7 times the mean together with a median near 0.`,
			100*lyraElastic, 100*lyraElasticLoad, 100*lyraFungible, 100*lyraMixed, calibrationSeed, lyraLoad),
		`**Elastic jobs** run with what they ask for to twice that. The mean running time of 14.2 h is read as that
with all workers, which is what the paper's profiler gives, so FIFO runs them for 28.4 h on average. With the other
reading scaling could shorten the mean run by 1,300 s at most; in Table 5 the mean JCT less queueing falls by 4,300 s
from FIFO to Basic. This reading favours all schemes that scale.`,
		`**T4 GPUs.** A fungible job takes two T4 for each V100 (half a batch on each; the doubling is inferred), and
three servers of T4 are one of V100 in compute (§7.5), so a job runs on loan at 2/3 of its speed. As gangs here are
fixed in number, the unit is the pair of T4 GPUs: a server counts 4 of them, and use counts both GPUs. In the paper's
Table 7 jobs on loaned servers run no slower than before (JCT less queueing 5,768 s against 6,974 s); here they do,
which costs JCT. A gang on both types runs at 70 % of the mean of its workers, in Ideal at all of it.`,
		fmt.Sprintf(`**Inference usage** follows a daily cycle from 42 %% to 95 %% around a mean of 65 %% (Fig. 1), in
points of five minutes, generated. A predictor (%s) and the headroom of 2 %% say what is lent; what is owed is given
back within five minutes. The paper's predictor is an LSTM.`, o.Predictor.Name),
		`**Preemption** loses all progress and costs 63 s at the next start; resizing is free, as in the paper's
simulator. With checkpoints all jobs keep their progress; in the paper 80 % do. A preemption counts as one also where
nothing is lost.`,
		`**Use.** Training use is over the training servers, overall use over all GPUs, which training holds or
inference needs, both from the first submit to the last. The paper does not define them: with its 72 % of training and
its mean usage of inference, 65 %, overall use would be 68 %, and it has 52 %. So ratios are compared. *Unforced* is
the share of the servers given back for which no job was stopped (in the paper the share of the demand that flexible
workers satisfy); *use of loans* is GPU-time held over GPU-time on loan (in the paper above 92 %).`,
		fmt.Sprintf(`**Two loads.** None of the loads tried gave both the paper's row of FIFO and its rows of Lyra. Where FIFO's
queueing is the paper's, training servers have room to spare under shortest-job-first, so its queueing all but
vanishes, loans lie idle and little is preempted. Own rows with a load of %g show the other side: Lyra's queueing, use
of loans and preemptions are then nearer the paper's, and FIFO's queueing is many times what the paper has.`, lyraBusy),
		`**Not run.** Lyra+TunedJobs (batch sizes and learning rates are not modelled), figures without numbers in the
text (Figs 11, 14, 15), the testbed, and the bootstrap, for which there is --seeds.`,
	}
	if o.Scale != 1 {
		paragraphs = append(paragraphs, fmt.Sprintf(`**Scale %g.** A smaller cluster is no small copy: gangs above 8
GPUs shrink with it and the load is lowered by the square-root rule, yet queues are longer. It shows that everything
runs, not what comes of it.`, float64(o.Scale)))
	}
	return paragraphs
}
