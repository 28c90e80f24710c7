package export

import (
	"fmt"
	"math"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/internal/onnx"
)

// serversToJobs is the layer in which servers attend to jobs, of which there may be none.
const serversToJobs = "servers_to_jobs"

// actor builds agents.Net.Forward out of ONNX operators. Values are called by what it calls them.
type actor struct {
	onnx.Graph
	shape  agents.Shape
	params agents.Params

	jobs  string // their number, [1]
	valid string // 1 for a job, 0 for the row behind them, [jobs+1, 1]
}

func (a *actor) build() {
	servers, jobs, candidates := onnx.Dim{Name: onnxServers}, onnx.Dim{Name: onnxJobs}, onnx.Dim{Name: onnxCandidates}
	server := a.Input(onnxServer, onnx.Float, servers, onnx.Dim{Size: a.shape.Server})
	job := a.Input(onnxJob, onnx.Float, jobs, onnx.Dim{Size: a.shape.Job})
	candidate := a.Input(onnxCandidate, onnx.Float, candidates, onnx.Dim{Size: a.shape.Candidate})
	weights := a.Input(onnxWeights, onnx.Float, candidates, servers)
	of := a.Input(onnxOf, onnx.Int64, candidates)

	// A row of zeros behind the jobs, which nobody sees: runtimes fail on tables without rows, and candidates of no job find it.
	there := a.op("Expand", a.number(1), a.size(job))
	padded := a.concat(0, job, a.Floats("no job", make([]float32, a.shape.Job), 1, a.shape.Job))
	a.valid = a.op("Unsqueeze", a.concat(0, there, a.number(0)), a.whole(1))
	a.jobs = a.float(a.size(job))

	h, y := a.embed(server, padded)
	y = a.op("Mul", y, a.valid)
	means := a.concat(1, a.mean(h, a.float(a.size(server))), a.mean(y, a.jobs))
	row := a.concat(1, a.op("MatMul", weights, h), a.op("Gather", y, of),
		a.op("Expand", means, a.concat(0, a.size(candidate), a.whole(1))), candidate)
	u := a.op("Relu", a.dense(row, "offer.w", "offer.b", 1))
	bids := a.op("MatMul", u, a.param("bid.w"))
	if a.shape.Graph != agents.GraphNone {
		bids = a.op("Add", bids, a.payoffs(h, weights))
	}
	a.Output(a.Rename(a.op("Squeeze", bids, a.whole(1)), onnxBids), onnx.Float, candidates)
}

// embed returns the embeddings of servers and of jobs: see agents.Net.
func (a *actor) embed(server, job string) (h, y string) {
	h = a.op("Relu", a.dense(server, "server.w", "server.b", 1))
	y = a.op("Relu", a.dense(job, "job.w", "job.b", 1))
	// log(1+n)/log(1+agents.ReferenceServers), see agents.ReferenceServers
	more := a.op("Log", a.op("Add", a.float(a.size(server)), a.number(1)))
	sharp := a.op("Mul", more, a.number(1/math.Log1p(agents.ReferenceServers)))

	seen := a.update(y, h, "jobs_to_servers", sharp)
	if a.shape.Attention == agents.Attend {
		h = a.update(h, seen, serversToJobs, "")
		z := a.update(a.param("inducing.points"), h, "inducing_to_servers", sharp)
		return a.update(h, z, "servers_to_inducing", ""), seen
	}
	h = a.update(h, y, serversToJobs, "")
	if a.shape.Attention == agents.AttendMean {
		h = a.others(h, a.size(server))
	}
	return h, seen
}

// update lets the rows of x attend to those of y, with queries multiplied by sharp if that is not empty.
func (a *actor) update(x, y, name, sharp string) string {
	d, heads := a.shape.Width, a.shape.Heads
	q := a.dense(x, name+".wq", name+".bq", float32(1/math.Sqrt(float64(d/heads))))
	if sharp != "" {
		q = a.op("Mul", q, sharp)
	}
	split := func(rows string, order ...int) string {
		parts := a.op("Reshape", rows, a.whole(0, heads, d/heads)) // 0: as many rows as there are
		return a.Node("Transpose", []string{parts}, onnx.IntsAttr("perm", order...))
	}
	q = split(q, 1, 0, 2)
	k := split(a.dense(y, name+".wk", name+".bk", 1), 1, 2, 0)
	v := split(a.dense(y, name+".wv", name+".bv", 1), 1, 0, 2)
	scores := a.op("MatMul", q, k)
	if name == serversToJobs {
		scores, v = a.unseen(scores, v)
	}
	p := a.Node("Softmax", []string{scores}, axis(-1))
	o := a.Node("Transpose", []string{a.op("MatMul", p, v)}, onnx.IntsAttr("perm", 1, 0, 2))
	o = a.op("Reshape", o, a.whole(-1, d))
	return a.join(x, a.dense(o, name+".wo", name+".bo", 1), name)
}

// unseen takes the row behind the jobs out of what attends to jobs. Without jobs it is all there is, and worth 0.
func (a *actor) unseen(scores, v string) (string, string) {
	none := a.op("Equal", a.jobs, a.number(0))
	there := a.cast(a.op("Squeeze", a.valid, a.whole(1)), onnx.Bool)
	seen := a.op("Or", there, none)
	return a.op("Where", seen, scores, a.number(math.Inf(-1))), a.op("Mul", v, a.valid)
}

// others is update with every row paying the same attention to all others.
func (a *actor) others(h, servers string) string {
	const name = "servers_to_inducing"
	v := a.dense(h, name+".wv", name+".bv", 1)
	sum := a.op("ReduceSum", v, a.whole(0))
	rest := a.op("Max", a.op("Sub", a.float(servers), a.number(1)), a.number(1))
	mean := a.op("Div", a.op("Sub", sum, v), rest)
	return a.join(h, a.dense(mean, name+".wo", name+".bo", 1), name)
}

func (a *actor) join(x, more, name string) string {
	sum := a.op("Add", x, more)
	return a.Node("LayerNormalization", []string{sum, a.param(name + ".gain"), a.param(name + ".bias")},
		axis(-1), onnx.FloatAttr("epsilon", 1e-5))
}

// dense is a layer's by*(x*w + b).
func (a *actor) dense(x, w, b string, by float32) string {
	return a.Node("Gemm", []string{x, a.param(w), a.param(b)}, onnx.FloatAttr("alpha", by), onnx.FloatAttr("beta", by))
}

// mean is the sum of the rows over how many count, but at least 1.
func (a *actor) mean(rows, count string) string {
	sum := a.op("ReduceSum", rows, a.whole(0))
	return a.op("Div", sum, a.op("Max", count, a.number(1)))
}

// param stores a parameter when it is first asked for.
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

// size is the number of rows, [1] of int64.
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

// number is a constant, [1]; whole is one of int64, [len(xs)].
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
