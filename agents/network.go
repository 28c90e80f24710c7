package agents

// Linear is a dense layer, given by the names of its parameters: x*Weight + Bias, followed by a ReLU if ReLU is true.
type Linear struct {
	Weight, Bias string
	ReLU         bool
}

// Block is an attention layer, given by its parameters: the projections of multi-head attention, and the gain and bias of the
// layer norm after it.
type Block struct {
	Name                   string
	Query, Key, Value, Out Linear
	Gain, Bias             string
	Keys                   Set // the set whose rows are the keys
	Reference              int // number of keys at which scores are not scaled, 0: never scaled; see attention.Shape
}

// Set names what the rows of a table stand for.
type Set uint8

// The sets.
const (
	Servers Set = iota
	Jobs
	Inducing // the learned points through which servers attend to servers
	Candidates
)

// Layers are the operations of the network. V is a table with one row for each element of a set: numbers in the forward pass, a
// Gorgonia node in training, the name of a value in an ONNX model. An implementation may overwrite the second argument of Norm
// and the first of Add, so Walk does not use them again.
type Layers[V any] interface {
	// Rows returns the observed features of servers or of jobs.
	Rows(of Set) V
	// Points returns the parameter of the given name, with a row for each inducing point.
	Points(name string) V
	// Linear computes a dense layer.
	Linear(x V, l *Linear) V
	// Attend computes multi-head attention from the rows of x to those of y. Norm computes the layer norm of x + more.
	Attend(x, y V, b *Block) V
	Norm(x, more V, b *Block) V
	// MeanOthers returns, for each server, the mean of the other servers' rows of x, or 0 if there is no other.
	MeanOthers(x V) V
	// Readout returns the network's input for each candidate, from the rows of servers and of jobs: see attention.Readout.
	Readout(servers, jobs V) V
	// Bids computes a dense layer without bias that returns one number for each candidate.
	Bids(u V, weight string) V
	// Payoffs returns the payoff of each candidate's coalition: the servers that take part in it. projection computes the servers'
	// factors, and weight names the weights of the factors: see coordgraph.Payoff.
	Payoffs(servers V, projection *Linear, weight string) V
	// TakenPayoffs returns, for each candidate, the sum of its payoffs with those that were carried out before it at this decision.
	// projection computes the candidates' factors, and weights names the weights of the factors by Tie.
	TakenPayoffs(candidates V, projection *Linear, weights *[Ties]string) V
	// Add returns x + y.
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
	tieLayer       = Linear{"tie.w", "tie.b", false}
	tieWeights     = [Ties]string{"tie.server", "tie.rack", "tie.type", "tie.tenant", "tie.any"}

	jobsToServers     = attending("jobs_to_servers", Servers, ReferenceServers)
	serversToJobs     = attending("servers_to_jobs", Jobs, 0)
	inducingToServers = attending("inducing_to_servers", Servers, ReferenceServers)
	serversToInducing = attending("servers_to_inducing", Inducing, 0)

	candidatesToCandidates = attending("candidates_to_candidates", Candidates, 0)
)

func attending(name string, keys Set, reference int) *Block {
	part := func(p string) Linear { return Linear{Weight: name + ".w" + p, Bias: name + ".b" + p} }
	return &Block{
		Name: name, Query: part("q"), Key: part("k"), Value: part("v"), Out: part("o"),
		Gain: name + ".gain", Bias: name + ".bias", Keys: keys, Reference: reference,
	}
}

// Walk computes the bids for the candidates with the given layers. It is the only place that defines which layer feeds which;
// net.go, agents/learn and agents/export implement the layers.
func Walk[V any](s *Shape, l Layers[V]) V {
	h, y := l.Linear(l.Rows(Servers), &serverLayer), l.Linear(l.Rows(Jobs), &jobLayer)
	h, y = exchange(s, l, h, y)
	e := l.Linear(l.Readout(h, y), &candidateLayer)
	if s.Joint && s.Attention == Attend {
		e = update(l, e, e, candidatesToCandidates)
	}
	bids := l.Bids(e, bidWeight)
	switch {
	case s.Graph == GraphNone:
		return bids
	case s.Joint:
		return l.Add(bids, l.TakenPayoffs(e, &tieLayer, &tieWeights))
	}
	return l.Add(bids, l.Payoffs(h, &pairLayer, pairWeight))
}

// exchange passes information between the embeddings h of servers and y of jobs, by attention.
func exchange[V any](s *Shape, l Layers[V], h, y V) (servers, jobs V) {
	jobs = update(l, y, h, jobsToServers)
	if s.Attention == Attend {
		h = update(l, h, jobs, serversToJobs)
		// Servers attend to each other through a few points (induced set attention, Lee et al., ICML 2019), so the cost is linear in
		// the number of servers.
		z := update(l, l.Points(inducingPoints), h, inducingToServers)
		return update(l, h, z, serversToInducing), jobs
	}
	// Servers attend to the original embeddings of jobs: updated jobs would pass on information about the other servers.
	h = update(l, h, y, serversToJobs)
	if s.Attention == AttendMean {
		// Every server attends equally to all others.
		b := serversToInducing
		h = l.Norm(h, l.Linear(l.MeanOthers(l.Linear(h, &b.Value)), &b.Out), b)
	}
	return h, jobs
}

// update computes one attention block: layerNorm(x + attention(x, y)).
func update[V any](l Layers[V], x, y V, b *Block) V { return l.Norm(x, l.Attend(x, y, b), b) }
