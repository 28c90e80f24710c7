package train

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/learn"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/atomicfile"
)

// rows returns the samples of a window as tensors. The tensor counts contains, for each choice, its numbers of servers, jobs,
// candidates and shares; the other tensors contain the rows of all choices, one after another.
func rows(s *agents.Shape, samples []learn.Sample) []checkpoints.Tensor {
	var saved []float64
	for i := range samples {
		saved = append(saved, samples[i].Saved...)
	}
	return append(observations(s, samples), checkpoints.Tensor{Name: "saved", Shape: []int{len(saved)}, Data: saved})
}

// observations returns the same without labels.
func observations(s *agents.Shape, samples []learn.Sample) []checkpoints.Tensor {
	var counts, of, shares []int64
	var server, job, offer, weights, prior []float32
	var tied tied
	for i := range samples {
		o := samples[i].Observation
		if s.Joint {
			tied.add(&samples[i])
		}
		counts = append(counts, int64(o.Servers), int64(o.Jobs), int64(o.Candidates), int64(len(o.Shares)))
		server, job, offer = append(server, o.Server...), append(job, o.Job...), append(offer, o.Candidate...)
		for k := range o.Candidates {
			of = append(of, int64(o.Of[k]))
		}
		for _, x := range o.Shares {
			shares, weights = append(shares, int64(x.Candidate), int64(x.Server)), append(weights, x.Weight)
		}
		prior = append(prior, samples[i].Prior...)
	}
	return append(tied.tensors(), []checkpoints.Tensor{
		{Name: "counts", Shape: []int{len(samples), 4}, Data: counts},
		{Name: "server", Shape: []int{len(server) / s.Server, s.Server}, Data: server},
		{Name: "job", Shape: []int{len(job) / s.Job, s.Job}, Data: job},
		{Name: "offer", Shape: []int{len(offer) / s.Candidate, s.Candidate}, Data: offer},
		{Name: "job_of_offer", Shape: []int{len(of)}, Data: of},
		{Name: "shares", Shape: []int{len(weights), 2}, Data: shares},
		{Name: "share_weights", Shape: []int{len(weights)}, Data: weights},
		{Name: "prior", Shape: []int{len(prior)}, Data: prior},
	}...)
}

// write stores the choices of a window atomically.
func (l *labels) write(path string, samples []learn.Sample) error {
	return store(path, func(w io.Writer) error { return l.encode(w, samples) })
}

// store puts a label file in place once it is whole.
func store(path string, write func(io.Writer) error) error {
	err := os.MkdirAll(filepath.Dir(path), 0o777)
	if err == nil {
		err = atomicfile.Write(path, 0o666, write)
	}
	if err != nil {
		return fmt.Errorf("store labels: %w", err)
	}
	return nil
}

// CleanLabels removes what killed writers have left half written in a folder of labels. No writer may be active there.
func CleanLabels(dir string) error {
	folders, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return fmt.Errorf("clean labels: %w", err)
	}
	return atomicfile.Clean(folders...)
}

// encode writes the choices of a window as a label file.
func (l *labels) encode(w io.Writer, samples []learn.Sample) error {
	return checkpoints.WriteTensors(w, rows(&l.scout.Shape, samples), nil)
}

// read is the inverse of write.
func (l *labels) read(path string) ([]learn.Sample, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tensors, _, err := checkpoints.ReadTensors(file, checkpoints.Limits{})
	if err != nil {
		return nil, err
	}
	samples, err := unrow(&l.scout.Shape, tensors)
	if err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, checkpoints.ErrDamaged, err)
	}
	return samples, nil
}

// unrow is the inverse of rows.
func unrow(s *agents.Shape, tensors []checkpoints.Tensor) ([]learn.Sample, error) {
	samples, err := unobserve(s, tensors)
	if err != nil {
		return nil, err
	}
	saved, err := checkpoints.Get[float64](tensors, "saved", allCandidates(samples))
	if err != nil {
		return nil, err
	}
	for i := range samples {
		samples[i].Saved = cut(&saved, samples[i].Candidates)
	}
	return samples, nil
}

// allCandidates returns the number of candidates of all samples together.
func allCandidates(samples []learn.Sample) (n int) {
	for i := range samples {
		n += samples[i].Candidates
	}
	return n
}

// unobserve is the inverse of observations. It checks every number that the network would use as an index.
func unobserve(s *agents.Shape, tensors []checkpoints.Tensor) (samples []learn.Sample, err error) {
	i := slices.IndexFunc(tensors, func(t checkpoints.Tensor) bool { return t.Name == "counts" })
	if i < 0 || len(tensors[i].Shape) != 2 {
		return nil, errors.New("no table of counts")
	}
	counts, err := checkpoints.Get[int64](tensors, "counts", tensors[i].Shape[0], 4)
	if err != nil {
		return nil, err
	}
	var sum [4]int
	for k, n := range counts {
		if n < 0 || n > math.MaxInt32 || k%4 == 2 && n == 0 {
			return nil, fmt.Errorf("choice %d: count %d", k/4, n)
		}
		sum[k%4] += int(n)
	}
	t := taker{tensors: tensors}
	server, job := take[float32](&t, "server", sum[0], s.Server), take[float32](&t, "job", sum[1], s.Job)
	offer, of := take[float32](&t, "offer", sum[2], s.Candidate), take[int64](&t, "job_of_offer", sum[2])
	shares, weights := take[int64](&t, "shares", sum[3], 2), take[float32](&t, "share_weights", sum[3])
	prior := take[float32](&t, "prior", sum[2])
	var tied tied
	if s.Joint {
		tied.take(&t, len(counts)/4, sum)
	}
	if t.err != nil {
		return nil, t.err
	}
	for c := range slices.Chunk(counts, 4) {
		servers, jobs, offers, n := int(c[0]), int(c[1]), int(c[2]), int(c[3])
		o := &agents.Observation{
			Servers: servers, Jobs: jobs, Candidates: offers,
			Server: cut(&server, servers*s.Server), Job: cut(&job, jobs*s.Job), Candidate: cut(&offer, offers*s.Candidate),
		}
		for _, x := range cut(&of, offers) {
			if x < -1 || x >= c[1] {
				return nil, fmt.Errorf("a candidate of job %d of %d", x, jobs)
			}
			o.Of = append(o.Of, int32(x))
		}
		for range n {
			at, w := cut(&shares, 2), cut(&weights, 1)
			if at[0] < 0 || at[0] >= c[2] || at[1] < 0 || at[1] >= c[0] {
				return nil, fmt.Errorf("server %d of %d in candidate %d of %d", at[1], servers, at[0], offers)
			}
			o.Shares = append(o.Shares, agents.Share{Candidate: int32(at[0]), Server: int32(at[1]), Weight: w[0]})
		}
		samples = append(samples, learn.Sample{Observation: o, Prior: cut(&prior, offers)})
		if s.Joint {
			if err := tied.cut(&samples[len(samples)-1]); err != nil {
				return nil, err
			}
		}
	}
	return samples, nil
}

// taker reads tensors and keeps the first error.
type taker struct {
	tensors []checkpoints.Tensor
	err     error
}

func take[E checkpoints.Element](t *taker, name string, shape ...int) []E {
	data, err := checkpoints.Get[E](t.tensors, name, shape...)
	if t.err == nil {
		t.err = err
	}
	return data
}

// cut removes the first n elements of a list and returns them.
func cut[E any](list *[]E, n int) []E {
	part := (*list)[:n:n]
	*list = (*list)[n:]
	return part
}
