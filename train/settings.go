package train

// Meaning explains a setting of training.
type Meaning struct {
	Key   string // without the prefix "train."
	Means string
}

// Meanings explains all settings, in the order of the fields of Config. clustergym train --explain prints it, and
// docs/training.md contains it.
func Meanings() []Meaning {
	return []Meaning{
		{"seed", "Seed of all random draws except those of label_seed."},
		{"updates", "How many updates the run makes."},
		{"extended", "For a run that was extended: how many updates were planned before. Set by train --resume --updates N."},
		{"expert", "How many updates, from the first on, learn from labels. The others learn by PPO from what the team plays."},
		{"learner", "How the team learns from labels. value: to bid for each candidate the cost that it saves. policy: to choose " +
			"candidates that save much more often."},
		{"label", "Fraction of decisions to label, from 0 to 1. Each labelled decision plays one fork for each candidate."},
		{"pairs", "Fraction of labelled decisions that are labelled once more, after a drawn candidate. Only with size.joint."},
		{"explore", "How rarely the prior departs from its own choice while labels are made: each other candidate is taken " +
			"exp(-explore) times as often."},
		{"along", "In whose play decisions are labelled. prior (default): in the prior's. team: in every second window, in that of " +
			"the policy of --from."},
		{"label_seed", "Seed of which windows and decisions are labelled. Runs with the same label_seed can share labels."},
		{"replay", "How many labelled decisions to learn from. The oldest windows beyond it are dropped."},
		{"prior", "The baseline whose proposals the team reviews. Of several, with commas between, the best on training windows."},
		{"margin", "By how much a bid for another candidate must exceed the bid for the prior's own candidate to be taken."},
		{"window", "How many jobs the agents observe, besides the jobs that candidates are about. From 4 to 1024."},
		{"candidates", "The most candidates on a wide list, besides the prior's own. 0: narrow lists, with one start of the prior " +
			"and its alternatives."},
		{"rivals", "Baselines, with commas between, whose proposals become candidates on the wide list, too."},
		{"against", "Baselines, with commas between, with which the team is compared while it trains. prior is the team's own prior."},
		{"encoder", "Name of the encoder of observations. Empty: the standard encoder."},
		{"costs", "Whether the team sees what jobs cost by the objective, and decides when that changes by itself."},
		{"objective", "What the team is trained for: a name of clustergym objective ls, a YAML file, or a reward of the program. " +
			"Empty: completion, which means short completion times."},
		{"tail", "How what happens long after a decision counts. discount (default): less and less, see memory. backlog: in full " +
			"until memory, then by an estimate for the jobs that are left."},
		{"curriculum", "Stages of other workloads, with which training begins. Set in a file."},
		{"size.width", "Width of the embeddings of servers and jobs."},
		{"size.heads", "Heads of each attention layer."},
		{"size.hidden", "Width of the hidden layer that computes a candidate's bid."},
		{"size.rank", "Rank of the payoffs between two neighbours in the coordination graph."},
		{"size.kappa", "How many neighbours a server selects in the coordination graph."},
		{"size.inducing", "Through how many points servers attend to servers. The cost grows with it, not with pairs of servers."},
		{"size.attention", "How servers exchange information. attend: by attention. mean: by an equal mean. none: not at all."},
		{"size.graph", "Which servers have payoffs between them. dynamic: those that match best. random, full, or none."},
		{"size.joint", "Whether the graph is between candidates, so that one forward pass serves a whole decision."},
		{"windows", "How many training windows an update plays or labels."},
		{"rollouts", "How many episodes PPO plays on each window of an update."},
		{"memory", "Time constant of the discount: a cost that comes this much later counts 1/e as much. With tail=backlog, how " +
			"long a fork plays before its backlog is estimated."},
		{"credit", "Time constant with which PPO's advantages shift from costs that were observed to the estimate from the prior."},
		{"critic", "What PPO compares the team with. prior (default): a fork that the prior plays. learned: a network's estimate."},
		{"choices", "The most decisions that an update learns from, drawn evenly."},
		{"epochs", "How often an update goes through these decisions."},
		{"batch", "How many decisions there are in one gradient step."},
		{"rate", "Adam's learning rate at the first update. It falls linearly to a tenth at the last."},
		{"temperature", "By what bids and margin are divided before they become probabilities of draws. 0 means 1."},
		{"clip", "How far PPO's probability ratio may depart from 1. Larger departures are clipped."},
		{"entropy", "Weight of the entropy bonus at the first update. It falls linearly to 0 at the last."},
		{"max_kl", "An update of PPO ends after an epoch in which the mean divergence, in nats, exceeds this."},
		{"max_norm", "Largest norm of a gradient. Larger gradients are scaled down."},
		{"every", "How many updates lie between two validations, each of which stores a checkpoint."},
		{"patience", "The run ends after this many validations in a row without better weights: of its last part only, if it learns " +
			"first from labels and then from draws, has a curriculum, or was extended. 0 (default): it makes all updates."},
		{"validation", "How many validation windows of each scenario are played."},
		{"keep", "How many checkpoints stay on disk."},
	}
}
