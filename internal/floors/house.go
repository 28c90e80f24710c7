package floors

// House returns the rules of this module. A new package is put on its floor here.
func House() Rules {
	return Rules{
		Module: "github.com/clustergym/clustergym",
		Floors: []Floor{
			{-1, "internal"},

			{0, "env/cluster"},
			{0, "attention"},
			{0, "coordgraph"},
			{0, "checkpoints"},

			{0.5, "attention/graph"},
			{0.5, "coordgraph/graph"},

			{1, "env/physics"},
			{1, "env/trace"},
			{1, "env/inference"},

			{2, "env/sim"},
			{2, "placement"},

			{2.5, "env/candidates"},
			{2.6, "env/observe"},
			{2.7, "env/game"},

			{3, "env"},
			{3, "env/scenario"},
			{3, "baselines"},

			{3.5, "env/envtest"},

			{4, "agents"},
			{4.5, "agents/learn"},

			{4.5, "policy"},

			{5, "train"},
			{5, "eval"},

			{5.4, "serve/decide"},

			{5.5, "serve"},

			{6, "cli"},

			{7, "cmd/clustergym"},
		},
		Fences: []Fence{{
			Module:  "gorgonia.org",
			Direct:  []string{"internal/graphop", "attention/graph", "coordgraph/graph", "agents/learn", "train"},
			Through: []string{"cli", "cmd/clustergym"},
		}},
	}
}
