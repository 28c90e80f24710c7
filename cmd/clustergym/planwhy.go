package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
)

// why explains a policy's decisions by facts about the jobs and the cluster: schedulers do not give reasons.
type why struct {
	bySubmit   map[cluster.JobID]int        // rank from 1 among the jobs that waited at first
	byEstimate map[cluster.JobID]int        // of those with an estimate
	prior      map[cluster.JobID]bool       // jobs that the prior would start; nil if the policy is not learned
	capacity   func(*cluster.JobSpec) int64 // workers that the empty cluster takes
}

func newWhy(s *cluster.State) *why {
	w := &why{bySubmit: map[cluster.JobID]int{}, byEstimate: map[cluster.JobID]int{}}
	waiting := bySubmission(s, s.Pending())
	for i, id := range waiting {
		w.bySubmit[id] = i + 1
	}
	waiting = slices.DeleteFunc(waiting, func(id cluster.JobID) bool { return s.Spec(id).Estimate == 0 })
	slices.SortStableFunc(waiting, func(a, b cluster.JobID) int {
		x, _ := s.Remaining(a)
		y, _ := s.Remaining(b)
		return cmp.Compare(x, y)
	})
	for i, id := range waiting {
		w.byEstimate[id] = i + 1
	}
	var spec cluster.Spec
	for i := range s.Servers() {
		if id := cluster.ServerID(i); s.Open(id) {
			spec.Servers = append(spec.Servers, *s.Server(id))
		}
	}
	w.capacity = spec.Capacity
	return w
}

// bySubmission returns jobs by submission, then id.
func bySubmission(s *cluster.State, jobs []cluster.JobID) []cluster.JobID {
	jobs = slices.Clone(jobs)
	slices.SortFunc(jobs, func(a, b cluster.JobID) int {
		return cmp.Or(cmp.Compare(s.Spec(a).Submit, s.Spec(b).Submit), cmp.Compare(a, b))
	})
	return jobs
}

// facts says who the job is: what an order of jobs may go by.
func (w *why) facts(s *cluster.State, id cluster.JobID) string {
	var parts []string
	if rank, ok := w.bySubmit[id]; ok {
		waited := human((s.Now() - s.Spec(id).Submit).Seconds())
		parts = append(parts, fmt.Sprintf("%s to come of %d, %s ago", ordinal(rank), len(w.bySubmit), waited))
	}
	left, known := s.Remaining(id)
	if rank, ok := w.byEstimate[id]; ok {
		shortest := strings.TrimPrefix(ordinal(rank)+" shortest", "first ")
		parts = append(parts, fmt.Sprintf("%s with %s left", shortest, human(left.Seconds())))
	} else if known {
		parts = append(parts, human(left.Seconds())+" left")
	} else {
		parts = append(parts, "no estimate")
	}
	return strings.Join(parts, ", ")
}

func (w *why) started(s *cluster.State, id cluster.JobID) string {
	p := s.Placement(id)
	text := fmt.Sprintf("%s; %s", w.facts(s, id), leaves(s, p))
	switch {
	case w.prior == nil:
	case w.prior[id]:
		text += "; the prior starts it too"
	default:
		text += "; the prior would let it wait"
	}
	return text
}

// leaves says how a placement fills its servers.
func leaves(s *cluster.State, p cluster.Placement) string {
	if len(p) == 0 {
		return "nowhere"
	}
	if len(p) > 1 {
		left := int32(0)
		for i := range p {
			left += s.FreeGPUs(p[i].Server)
		}
		return fmt.Sprintf("takes %d servers and leaves %s free there", len(p), count(int64(left), "GPU"))
	}
	name, left := s.Server(p[0].Server).Name, s.FreeGPUs(p[0].Server)
	if left == 0 {
		return "fills " + name
	}
	return fmt.Sprintf("fits %s with %s left", name, count(int64(left), "GPU"))
}

func (w *why) preempted(s *cluster.State, id cluster.JobID) string {
	return fmt.Sprintf("gives its GPUs to jobs that the policy puts first; %s, %s of GPU time attained", w.facts(s, id),
		human(s.Attained(id).Seconds()))
}

// waits says why a job waits when the policy is done.
func (w *why) waits(s *cluster.State, id cluster.JobID) string {
	spec := s.Spec(id)
	room, largest, free := int64(0), int32(0), int64(0)
	for i := range s.Servers() {
		server := cluster.ServerID(i)
		fits := s.Fits(server, id, spec.Request)
		room += int64(fits)
		largest = max(largest, fits)
		if s.Open(server) {
			free += int64(s.FreeGPUs(server))
		}
	}
	need := fmt.Sprintf("needs %s", gpusOf(spec))
	switch most := w.capacity(spec); {
	case most < int64(spec.Least()):
		return fmt.Sprintf("%s; the empty cluster takes only %d of its workers", need, most)
	case room < int64(spec.Least()) && spec.Request.GPUMilli == cluster.WholeGPU && free > room:
		return fmt.Sprintf("%s; %d are free, but CPU and memory last for %d workers", need, free, room)
	case room < int64(spec.Least()):
		return fmt.Sprintf("%s; %d fit, at most %d on one server", need, room, largest)
	}
	text := fmt.Sprintf("%s, and %d fit: held back by the policy; %s", need, room, w.facts(s, id))
	if w.prior[id] {
		text += "; the prior would start it"
	}
	return text
}

func gpusOf(spec *cluster.JobSpec) string {
	if spec.Request.GPUMilli == cluster.WholeGPU {
		return count(int64(spec.Workers), "GPU")
	}
	return fmt.Sprintf("%s of %d/%d", count(int64(spec.Workers), "GPU share"), spec.Request.GPUMilli, cluster.WholeGPU)
}

// count is a number of things: "1 GPU", "2 GPUs".
func count(n int64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
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

// writeExample writes a snapshot of a small busy cluster.
func writeExample(w io.Writer) error {
	s, err := exampleState()
	if err != nil {
		return err
	}
	return s.WriteSnapshot(w)
}

// exampleState is four servers of eight GPUs at nine in the morning of the second day: three jobs run since they were
// submitted, five wait.
func exampleState() (*cluster.State, error) {
	const now = 33 * time.Hour
	jobs := []struct {
		name, user string
		workers    int32
		ago        time.Duration // since its submission
		estimate   time.Duration
		at         cluster.Placement // nil: it waits
	}{
		{"pretrain-7b", "ada", 16, 20 * time.Hour, 48 * time.Hour, pieces(8, 0, 1)},
		{"resnet-sweep-3", "grace", 3, 2 * time.Hour, 3 * time.Hour, pieces(3, 2)},
		{"finetune-70b", "ada", 16, 90 * time.Minute, 12 * time.Hour, nil},
		{"bert-large", "edsger", 8, 70 * time.Minute, 5 * time.Hour, nil},
		{"eval-nightly", "alan", 2, 40 * time.Minute, time.Hour, pieces(2, 3)},
		{"debug-loader", "grace", 1, 10 * time.Minute, 5 * time.Minute, nil},
		{"gan-ablation", "barbara", 4, 8 * time.Minute, 90 * time.Minute, nil},
		{"tokenizer-test", "alan", 2, time.Minute, 20 * time.Minute, nil},
	}
	s, err := cluster.NewState(cluster.Uniform(4, 8), len(jobs))
	if err != nil {
		return nil, err
	}
	for i, j := range jobs {
		id := cluster.JobID(i)
		s.Advance(now - j.ago)
		s.Submit(id, &cluster.JobSpec{
			Name: j.name, User: j.user, Workers: j.workers, Submit: s.Now(), Estimate: j.estimate,
			Request: cluster.Amount{GPUMilli: cluster.WholeGPU},
		})
		if j.at == nil {
			continue
		}
		var gpus []int32
		for _, p := range j.at {
			for g := range p.Workers {
				gpus = append(gpus, g)
			}
		}
		if err := s.Restore(id, j.at, gpus); err != nil {
			return nil, err
		}
	}
	s.Advance(now)
	return s, nil
}

// pieces places so many whole-GPU workers on each of the servers.
func pieces(workers int32, servers ...cluster.ServerID) cluster.Placement {
	var p cluster.Placement
	for _, id := range servers {
		p = append(p, cluster.Piece{Server: id, Workers: workers, Amount: cluster.Amount{GPUMilli: cluster.WholeGPU}})
	}
	return p
}
