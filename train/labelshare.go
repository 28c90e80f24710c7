package train

// LabelsKey returns a key of the settings that labels depend on. Runs on the same scenarios with equal keys learn from the same
// labels, provided that they take the same prior of those that Prior lists.
func LabelsKey(cfg *Config) (string, error) { return labelsKey(cfg, cfg.Prior, "", "") }
