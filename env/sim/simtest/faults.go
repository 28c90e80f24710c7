package simtest

import (
	"fmt"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/env/sim"
	"pgregory.net/rapid"
)

// Seconds draws a time of whole seconds.
func Seconds(t *rapid.T, name string, from, to int) time.Duration {
	return time.Duration(rapid.IntRange(from, to).Draw(t, name)) * time.Second
}

// Lend adds an inference pool of at most so many servers, all like the first server, and what it offers in the course of time.
func Lend(t *rapid.T, cfg *sim.Config, most int) {
	pool := rapid.IntRange(0, most).Draw(t, "inference servers")
	for i := range pool {
		v := cfg.Cluster.Servers[0]
		v.Name, v.Pool = fmt.Sprint("inference-", i), cluster.Inference
		cfg.Cluster.Servers = append(cfg.Cluster.Servers, v)
	}
	cfg.Grace = Seconds(t, "grace", 0, 4)
	for at := time.Duration(0); rapid.IntRange(0, 5).Draw(t, "more demand") > 0; at += Seconds(t, "demand after", 1, 20) {
		cfg.Demand = append(cfg.Demand, sim.Demand{At: at, Need: 500, Offer: int32(rapid.IntRange(0, pool).Draw(t, "offer"))})
	}
}

// Break adds failures of servers and GPUs, one after the other.
func Break(t *rapid.T, cfg *sim.Config) {
	for at := time.Duration(0); rapid.IntRange(0, 2).Draw(t, "more outages") > 0; {
		o := sim.Outage{From: at + Seconds(t, "fails after", 0, 20)}
		o.To = o.From + Seconds(t, "repaired after", 1, 20)
		o.Server = cluster.ServerID(rapid.IntRange(0, len(cfg.Cluster.Servers)-1).Draw(t, "which"))
		o.GPU = rapid.Int32Range(-1, cfg.Cluster.Servers[o.Server].GPUs-1).Draw(t, "GPU")
		cfg.Outages, at = append(cfg.Outages, o), o.To
	}
}
