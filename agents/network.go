package agents

// Linear is a dense layer by the names of its parameters: x*Weight + Bias, rectified if ReLU.
type Linear struct {
	Weight, Bias string
	ReLU         bool
}

// Block is an attention layer by its parameters: the projections of multi-head attention, and the gain and bias of the norm
// that follows it.
type Block struct {
	Name                   string
	Query, Key, Value, Out Linear
	Gain, Bias             string
	Keys                   Set // whose rows are attended to
	Reference              int // number of keys at which scores are as they come, 0 for any: see attention.Shape
}

// Set says what rows are about.
type Set uint8

// The sets.
const (
	Servers Set = iota
	Jobs
	Inducing // the points through which servers attend to servers
)

// Layers are the operations that the network consists of. V is a table of numbers, a row for each of what it is about: numbers
// in the forward pass, a node of Gorgonia in training, the name of a value in an ONNX model. No result is used again after it was
// the second argument of Norm or the first of Add, which may overwrite it.
type Layers[V any] interface {
	// Rows is what is observed of servers or of jobs.
	Rows(of Set) V
	// Points is the parameter of that name, a row for each inducing point.
	Points(name string) V
	// Linear is a dense layer.
	Linear(x V, l *Linear) V
	// Attend is what the rows of x take from those of y by multi-head attention. Norm is the layer norm of x + more.
	Attend(x, y V, b *Block) V
	Norm(x, more V, b *Block) V
	// MeanOthers is, for each server, the mean of the other servers' rows of x, and 0 if there is no other.
	MeanOthers(x V) V
	// Readout is what is known of each candidate from the rows of servers and of jobs: see attention.Readout.
	Readout(servers, jobs V) V
	// Bids is a dense layer without bias that gives one number for each candidate.
	Bids(u V, weight string) V
	// Payoffs are those of each candidate's coalition, by factors that are projections of servers, each of which has a
	// weight: see coordgraph.Payoff.
	Payoffs(servers V, projection *Linear, weight string) V
	// Add is x + y.
	Add(x, y V) V
}

// Names of parameters that belong to no Linear and no Block.
const (
	inducingPoints = "inducing.points"
	bidWeight      = "bid.w"
	pairWeight     = "pair.weight"
)

var (
	serverLayer    = Linear{"server.w", "server.b", true}
	jobLayer       = Linear{"job.w", "job.b", true}
	candidateLayer = Linear{"offer.w", "offer.b", true}
	pairLayer      = Linear{"pair.w", "pair.b", false}

	jobsToServers     = attending("jobs_to_servers", Servers, ReferenceServers)
	serversToJobs     = attending("servers_to_jobs", Jobs, 0)
	inducingToServers = attending("inducing_to_servers", Servers, ReferenceServers)
	serversToInducing = attending("servers_to_inducing", Inducing, 0)
)

func attending(name string, keys Set, reference int) *Block {
	part := func(p string) Linear { return Linear{Weight: name + ".w" + p, Bias: name + ".b" + p} }
	return &Block{
		Name: name, Query: part("q"), Key: part("k"), Value: part("v"), Out: part("o"),
		Gain: name + ".gain", Bias: name + ".bias", Keys: keys, Reference: reference,
	}
}

// Walk computes the bids for the candidates by these layers. It is the one place that says which layer feeds which;
// net.go, agents/learn and agents/export say what each layer is.
func Walk[V any](s *Shape, l Layers[V]) V {
	h, y := l.Linear(l.Rows(Servers), &serverLayer), l.Linear(l.Rows(Jobs), &jobLayer)
	h, y = exchange(s, l, h, y)
	bids := l.Bids(l.Linear(l.Readout(h, y), &candidateLayer), bidWeight)
	if s.Graph == GraphNone {
		return bids
	}
	return l.Add(bids, l.Payoffs(h, &pairLayer, pairWeight))
}

// exchange lets the embeddings h of servers and y of jobs see each other.
func exchange[V any](s *Shape, l Layers[V], h, y V) (servers, jobs V) {
	jobs = update(l, y, h, jobsToServers)
	if s.Attention == Attend {
		h = update(l, h, jobs, serversToJobs)
		// Servers see each other through a few points (induced set attention, Lee et al., ICML 2019): their cost is linear.
		z := update(l, l.Points(inducingPoints), h, inducingToServers)
		return update(l, h, z, serversToInducing), jobs
	}
	// Jobs that have seen the servers would tell each of the others.
	h = update(l, h, y, serversToJobs)
	if s.Attention == AttendMean {
		// Every server pays the same attention to all others.
		b := serversToInducing
		h = l.Norm(h, l.Linear(l.MeanOthers(l.Linear(h, &b.Value)), &b.Out), b)
	}
	return h, jobs
}

// update lets the rows of x attend to those of y: layerNorm(x + attention(x, y)).
func update[V any](l Layers[V], x, y V, b *Block) V { return l.Norm(x, l.Attend(x, y, b), b) }
