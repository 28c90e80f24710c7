package export

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/onnx"
)

// actor builds the network as ONNX operators. Values are identified by their names.
type actor struct {
	onnx.Graph
	shape  agents.Shape
	params agents.Params

	server, padded         string // the rows of servers, and of jobs with a row of zeros after them
	candidate, weights, of string
	jobs                   string // number of jobs, [1]
	valid                  string // [jobs+1, 1]: 1 for a job, 0 for the row of zeros
	sharp                  string // factor of scores over servers, once it is needed: see agents.ReferenceServers
}

var _ agents.Layers[string] = (*actor)(nil)

func (a *actor) build() {
	servers, jobs, candidates := onnx.Dim{Name: onnxServers}, onnx.Dim{Name: onnxJobs}, onnx.Dim{Name: onnxCandidates}
	a.server = a.Input(onnxServer, onnx.Float, servers, onnx.Dim{Size: a.shape.Server})
	job := a.Input(onnxJob, onnx.Float, jobs, onnx.Dim{Size: a.shape.Job})
	a.candidate = a.Input(onnxCandidate, onnx.Float, candidates, onnx.Dim{Size: a.shape.Candidate})
	a.weights = a.Input(onnxWeights, onnx.Float, candidates, servers)
	a.of = a.Input(onnxOf, onnx.Int64, candidates)

	// Append a row of zeros to the jobs, masked in attention: runtimes fail on tables without rows, and candidates without a job
	// refer to it.
	there := a.op("Expand", a.number(1), a.size(job))
	a.padded = a.concat(0, job, a.Floats("no job", make([]float32, a.shape.Job), 1, a.shape.Job))
	a.valid = a.op("Unsqueeze", a.concat(0, there, a.number(0)), a.whole(1))
	a.jobs = a.float(a.size(job))

	bids := agents.Walk(&a.shape, agents.Layers[string](a))
	a.Output(a.Rename(a.op("Squeeze", bids, a.whole(1)), onnxBids), onnx.Float, candidates)
}

func (a *actor) Rows(of agents.Set) string {
	if of == agents.Servers {
		return a.server
	}
	return a.padded
}

func (a *actor) Points(name string) string { return a.param(name) }

func (a *actor) Linear(x string, l *agents.Linear) string {
	y := a.dense(x, l, 1)
	if l.ReLU {
		y = a.op("Relu", y)
	}
	return y
}

func (a *actor) Attend(x, y string, b *agents.Block) string {
	d, heads := a.shape.Width, a.shape.Heads
	if b.Reference > 0 && a.sharp == "" {
		// log(1+n)/log(1+reference) for n servers.
		more := a.op("Log", a.op("Add", a.float(a.size(a.server)), a.number(1)))
		a.sharp = a.op("Mul", more, a.number(1/math.Log1p(float64(b.Reference))))
	}
	q := a.dense(x, &b.Query, float32(1/math.Sqrt(float64(d/heads))))
	if b.Reference > 0 {
		q = a.op("Mul", q, a.sharp)
	}
	split := func(rows string, order ...int) string {
		parts := a.op("Reshape", rows, a.whole(0, heads, d/heads)) // 0 keeps the number of rows
		return a.Node("Transpose", []string{parts}, onnx.IntsAttr("perm", order...))
	}
	q = split(q, 1, 0, 2)
	k := split(a.dense(y, &b.Key, 1), 1, 2, 0)
	v := split(a.dense(y, &b.Value, 1), 1, 0, 2)
	scores := a.op("MatMul", q, k)
	if b.Keys == agents.Jobs {
		scores, v = a.unseen(scores, v)
	}
	p := a.Node("Softmax", []string{scores}, axis(-1))
	o := a.Node("Transpose", []string{a.op("MatMul", p, v)}, onnx.IntsAttr("perm", 1, 0, 2))
	return a.dense(a.op("Reshape", o, a.whole(-1, d)), &b.Out, 1)
}

// unseen masks the row of zeros after the jobs in attention over jobs. Without jobs it is the only row, and its value is 0.
func (a *actor) unseen(scores, v string) (string, string) {
	none := a.op("Equal", a.jobs, a.number(0))
	there := a.cast(a.op("Squeeze", a.valid, a.whole(1)), onnx.Bool)
	seen := a.op("Or", there, none)
	return a.op("Where", seen, scores, a.number(math.Inf(-1))), a.op("Mul", v, a.valid)
}

func (a *actor) Norm(x, more string, b *agents.Block) string {
	return a.Node("LayerNormalization", []string{a.Add(x, more), a.param(b.Gain), a.param(b.Bias)},
		axis(-1), onnx.FloatAttr("epsilon", 1e-5))
}

func (a *actor) MeanOthers(x string) string {
	sum := a.op("ReduceSum", x, a.whole(0))
	rest := a.op("Max", a.op("Sub", a.float(a.size(a.server)), a.number(1)), a.number(1))
	return a.op("Div", a.op("Sub", sum, x), rest)
}

func (a *actor) Readout(servers, jobs string) string {
	jobs = a.op("Mul", jobs, a.valid)
	means := a.concat(1, a.mean(servers, a.float(a.size(a.server))), a.mean(jobs, a.jobs))
	return a.concat(1, a.op("MatMul", a.weights, servers), a.op("Gather", jobs, a.of),
		a.op("Expand", means, a.concat(0, a.size(a.candidate), a.whole(1))), a.candidate)
}

// TakenPayoffs makes the candidates' factors an output. Payoffs follow from them and from the tie weights. Which of them count
// changes with every candidate that is carried out.
func (a *actor) TakenPayoffs(candidates string, projection *agents.Linear, weights *[agents.Ties]string) string {
	a.Output(a.Rename(a.Linear(candidates, projection), onnxFactors), onnx.Float, onnx.Dim{Name: onnxCandidates},
		onnx.Dim{Size: a.shape.Rank})
	for _, name := range weights {
		a.param(name)
	}
	return a.number(0)
}

func (a *actor) Bids(u, weight string) string { return a.op("MatMul", u, a.param(weight)) }

func (a *actor) Add(x, y string) string { return a.op("Add", x, y) }

// dense returns by*(x*w + b) for a layer.
func (a *actor) dense(x string, l *agents.Linear, by float32) string {
	return a.Node("Gemm", []string{x, a.param(l.Weight), a.param(l.Bias)}, onnx.FloatAttr("alpha", by), onnx.FloatAttr("beta", by))
}

// mean returns the sum of the rows divided by max(count, 1).
func (a *actor) mean(rows, count string) string {
	sum := a.op("ReduceSum", rows, a.whole(0))
	return a.op("Div", sum, a.op("Max", count, a.number(1)))
}

// param returns the name of a parameter and stores it in the model at the first call.
func (a *actor) param(name string) string {
	if a.Has(name) {
		return name
	}
	for i := range a.params {
		if p := &a.params[i]; p.Name == name {
			return a.Floats(name, p.Data, p.Shape...)
		}
	}
	panic("export: no parameter " + name)
}

func (a *actor) op(name string, inputs ...string) string { return a.Node(name, inputs) }

// size returns the number of rows, as int64 [1].
func (a *actor) size(rows string) string {
	return a.Node("Shape", []string{rows}, onnx.IntAttr("start", 0), onnx.IntAttr("end", 1))
}

func (a *actor) float(x string) string { return a.cast(x, onnx.Float) }

func (a *actor) cast(x string, to onnx.Type) string {
	return a.Node("Cast", []string{x}, onnx.IntAttr("to", int(to)))
}

func (a *actor) concat(along int, values ...string) string {
	return a.Node("Concat", values, axis(along))
}

func axis(i int) onnx.Attr { return onnx.IntAttr("axis", i) }

// number returns a float constant, [1]; whole returns an int64 constant, [len(xs)].
func (a *actor) number(x float64) string {
	name := fmt.Sprintf("float %v", x)
	if a.Has(name) {
		return name
	}
	return a.Floats(name, []float32{float32(x)}, 1)
}

func (a *actor) whole(xs ...int) string {
	list := make([]int64, len(xs))
	for i, x := range xs {
		list[i] = int64(x)
	}
	return a.constant(fmt.Sprintf("int %v", xs), list, len(xs))
}

func (a *actor) constant(name string, list []int64, dims ...int) string {
	if a.Has(name) {
		return name
	}
	return a.Ints(name, list, dims...)
}
