package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/internal/onnx/run"
)

// The inputs that the model of a central controller may have: the keys of the observations of clustergym's Python package, and
// its mask of actions.
var centralInputNames = []string{
	"servers", "jobs", "job_mask", "candidates", "job_of", "coalition", "cluster", "action_mask",
}

// anyServers stands in a shape for a number of servers that is not known yet.
const anyServers = -1

// centralShape returns the shape of an input for rounds of a game, nil if there is no input of that name.
func centralShape(name string, s *game.Spec, servers int) []int {
	switch name {
	case "servers":
		return []int{servers, len(s.Server)}
	case "jobs":
		return []int{s.Jobs, len(s.Job)}
	case "job_mask":
		return []int{s.Jobs}
	case "candidates":
		return []int{s.Candidates, len(s.Candidate)}
	case "coalition":
		return []int{s.Candidates, servers}
	case "cluster":
		return []int{len(s.Global)}
	case "job_of", "action_mask":
		return []int{s.Candidates}
	}
	return nil
}

// centralInput is an input of a model.
type centralInput struct {
	run.Value
	batch bool // a dimension of 1 stands before the others
}

// match checks that the model's inputs and outputs fit rounds with the given specification, and keeps how.
func (c *Central) match(s game.Spec) error {
	if len(c.model.Inputs) == 0 {
		return fmt.Errorf("no inputs, want one or more of %s", strings.Join(centralInputNames, ", "))
	}
	for _, v := range c.model.Inputs {
		want := centralShape(v.Name, &s, anyServers)
		if want == nil {
			return fmt.Errorf("input %.50q, want names of %s", v.Name, strings.Join(centralInputNames, ", "))
		}
		if err := centralType(&v); err != nil {
			return err
		}
		in := centralInput{Value: v, batch: len(v.Dims) == len(want)+1 && (v.Dims[0].Size == 1 || v.Dims[0].Size < 0)}
		dims := v.Dims
		if in.batch {
			dims = dims[1:]
		}
		if len(dims) != len(want) {
			return unlike(&v, want)
		}
		for i, d := range dims {
			switch {
			case d.Size < 0 || d.Size == want[i]:
			case want[i] == anyServers && d.Size > 0 && (c.servers == 0 || c.servers == d.Size):
				c.servers = d.Size
			default:
				return unlike(&v, want)
			}
		}
		c.inputs = append(c.inputs, in)
	}
	return c.matchScores(s.Candidates)
}

// unlike is the error of an input with another shape.
func unlike(v *run.Value, want []int) error {
	words := make([]string, len(want))
	for i, n := range want {
		if words[i] = fmt.Sprint(n); n == anyServers {
			words[i] = "servers"
		}
	}
	text := strings.Join(words, " ")
	return fmt.Errorf("input %s has the shape %v, want [%s] or [1 %s] as the environment shows it with this window and these"+
		" candidates", v.Name, v.Dims, text, text)
}

// centralType returns an error unless an input has a type that holds its numbers.
func centralType(v *run.Value) error {
	ok, want := v.Type == run.Float, "float32"
	switch v.Name {
	case "job_mask", "action_mask":
		ok, want = true, "" // any type holds 0 and 1
	case "job_of":
		ok, want = v.Type == run.Float || v.Type == run.Int32 || v.Type == run.Int64, "int32, int64 or float32"
	}
	if !ok {
		return fmt.Errorf("input %s is of %v, want %s", v.Name, v.Type, want)
	}
	return nil
}

// centralScores is the name of the output with the scores, which the only output of a model need not have.
const centralScores = "scores"

// matchScores finds the output with the scores of n numbers.
func (c *Central) matchScores(n int) error {
	all := c.model.Outputs
	if len(all) != 1 {
		all = slices.DeleteFunc(slices.Clone(all), func(v run.Value) bool { return v.Name != centralScores })
	}
	if len(all) != 1 {
		return fmt.Errorf("%d outputs, want one, or one that is named %s", len(c.model.Outputs), centralScores)
	}
	v := all[0]
	d := v.Dims
	last := func() bool { return d[len(d)-1].Size < 0 || d[len(d)-1].Size == n }
	if v.Type != run.Float || d != nil && !((len(d) == 1 || len(d) == 2 && d[0].Size <= 1) && last()) {
		return fmt.Errorf("output %.50q is %v %v, want float32 [%d] or [1 %d]: one score for each number, 0 to pass included", v.Name,
			v.Type, d, n, n)
	}
	c.scores = v.Name
	return nil
}

// read returns what the input shows of a round: what the environment shows a learner in Python.
func (in *centralInput) read(r *game.Round) *run.Tensor {
	s := r.Spec()
	shape := centralShape(in.Name, s, s.Agents)
	n := 1
	for _, d := range shape {
		n *= d
	}
	var x []float32
	switch in.Name {
	case "servers":
		x = r.Servers
	case "jobs":
		x = r.Jobs
	case "candidates":
		x = r.Candidates
	case "cluster":
		x = r.Global
	default:
		x = make([]float32, n)
		in.fill(r, x)
	}
	if in.batch {
		shape = append([]int{1}, shape...)
	}
	t := &run.Tensor{Type: in.Type, Shape: shape}
	if in.Type == run.Float {
		t.Floats = x
		return t
	}
	t.Ints = make([]int64, n)
	for i := range x {
		t.Ints[i] = int64(x[i])
	}
	return t
}

// fill sets the numbers, which are 0, of an input that is no table of features.
func (in *centralInput) fill(r *game.Round, x []float32) {
	switch in.Name {
	case "job_mask":
		for i := range r.Ids {
			x[i] = 1
		}
	case "action_mask":
		for n := range x {
			if may(r, n) {
				x[n] = 1
			}
		}
	case "job_of":
		for n := range x {
			if x[n] = -1; n > 0 && n <= len(r.Of) {
				x[n] = float32(r.Of[n-1])
			}
		}
	case "coalition":
		for _, m := range r.Coalition {
			x[int(m.Candidate)*r.Spec().Agents+int(m.Server)] = m.Weight
		}
	}
}
