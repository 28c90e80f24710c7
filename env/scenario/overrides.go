package scenario

import "strconv"

// Overrides are the settings that users change most. A zero value leaves the scenario's.
type Overrides struct {
	Trace         string // workload.trace
	Format        string // workload.format
	Arrivals      int    // window.arrivals
	Servers       int    // cluster.servers
	GPUsPerServer int    // cluster.gpus_per_server
}

// Sets returns the overrides as settings for Load.
func (o Overrides) Sets() []string {
	var sets []string
	text := func(key, value string) {
		if value != "" {
			sets = append(sets, key+"="+value)
		}
	}
	number := func(key string, value int) {
		if value != 0 {
			text(key, strconv.Itoa(value))
		}
	}
	text("workload.trace", o.Trace)
	if o.Trace != "" {
		sets = append(sets, "workload.format=") // another file, another header
	}
	if o.Trace != "" && o.Trace != Embedded {
		sets = append(sets, "workload.jobs=0", "workload.load=0")
	}
	text("workload.format", o.Format)
	number("window.arrivals", o.Arrivals)
	number("cluster.servers", o.Servers)
	number("cluster.gpus_per_server", o.GPUsPerServer)
	return sets
}
