package train

import "testing"

// TestLabelsKey checks which settings runs may differ in to share labels.
func TestLabelsKey(t *testing.T) {
	key := func(change func(*Config)) string {
		cfg := DefaultConfig()
		change(&cfg)
		k, err := LabelsKey(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	usual := key(func(*Config) {})
	for name, change := range map[string]func(*Config){
		"seed": func(c *Config) { c.Seed = 9 }, "rate": func(c *Config) { c.Rate = 1e-4 }, "graph": func(c *Config) { c.Size.Graph = "none" },
		"windows": func(c *Config) { c.Windows = 3 },
	} {
		if key(change) != usual {
			t.Errorf("another %s has other labels", name)
		}
	}
	for name, change := range map[string]func(*Config){
		"label": func(c *Config) { c.Label = 0.5 }, "label_seed": func(c *Config) { c.LabelSeed = 2 },
		"prior": func(c *Config) { c.Prior = "fifo" }, "memory": func(c *Config) { c.Memory *= 2 },
	} {
		if key(change) == usual {
			t.Errorf("another %s has the same labels", name)
		}
	}
}
