package train

// Folder is what the folder of a run tells. The run may be in progress.
type Folder struct {
	Recipe  *Recipe
	Metrics []Metrics // one for each finished update
}

// ReadFolder reads the folder of a run. The error wraps checkpoints.ErrNone if dir contains no run.
func ReadFolder(dir string) (*Folder, error) {
	r, err := ReadRecipe(dir)
	if err != nil {
		return nil, err
	}
	metrics, err := ReadMetrics(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{r, metrics}, nil
}

// Finished reports whether the run has made all its updates, or ended early by its setting patience.
func (f *Folder) Finished() bool {
	n, best := len(f.Metrics), 0
	if b := f.Best(); b != nil {
		best = b.Update
	}
	return n >= f.Recipe.Train.Updates || f.Recipe.Train.endsEarly(n, best)
}

// Best is the policy that a run keeps: the one that did best on its validation windows so far.
type Best struct {
	JCT    float64 `json:"validation"` // its cost relative to the prior's
	Margin float64 `json:"margin"`
	Update int     `json:"update"` // after which it had these weights; 0 for the prior, and for the policy that the run began with
}

// Best returns the policy that the run keeps, nil before the first validation.
func (f *Folder) Best() *Best {
	var best *Best
	for i := range f.Metrics {
		m := &f.Metrics[i]
		if best == nil && (m.Start != nil || m.Validation != nil) {
			best = &Best{JCT: 1, Margin: f.Recipe.Train.Margin} // the prior
		}
		if m.StartKept && f.Recipe.From != nil {
			*best = Best{*m.Start, f.Recipe.From.Margin, 0}
		}
		// Runs of older programs, and those with a single validation window, keep the lowest.
		if m.Kept || m.Validation != nil && m.ValidationError == nil && *m.Validation < best.JCT {
			*best = Best{*m.Validation, m.Margin, m.Update}
		}
	}
	return best
}
