package control

import (
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/serve/decide"
)

// Mode is how far the scheduler goes.
type Mode string

// The modes, from the least to the most.
const (
	off    Mode = "off"    // it decides nothing
	Shadow Mode = "shadow" // it decides, compares with what another scheduler did, and writes nothing
	Live   Mode = "live"   // it carries out what it decides
)

// level orders modes; one that is not known lets nothing be done.
func (m Mode) level() int {
	switch m {
	case Live:
		return 2
	case Shadow:
		return 1
	}
	return 0
}

// Config is all that a Loop needs. Reads go through Client and Dynamic, writes through Actor alone.
type Config struct {
	Mode      Mode
	Namespace string // of the ConfigMaps ControlName and ledgerName
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface
	Actor     *act.Actor // nil in shadow mode
	Mirror    mirror.Config
	Decider   *decide.Decider

	Period  time.Duration // between rounds when nothing changes: 10 s
	Settle  time.Duration // from a change to the round that sees it, so that one round sees many changes: 50 ms
	Explain time.Duration // between rounds that find reasons for those that wait: 10 s
	// GangDeadline is how long a gang may be bound in part; then its bound pods are deleted, so that their owner makes them
	// anew: 1 min.
	GangDeadline time.Duration
	// Stops is how many gangs may be stopped or moved in an hour, 0 for none.
	Stops int
	// Starvation is how long a gang waits before it goes before all others; 0 for never. For as long again at most it holds back
	// what would delay it.
	Starvation time.Duration
	Now        func() time.Time // nil for time.Now
	Log        *slog.Logger
}

func (c *Config) complete() error {
	if c.Mode != Shadow && c.Mode != Live {
		return fmt.Errorf("mode %q, want shadow or live", c.Mode)
	}
	if c.Mode == Live && c.Actor == nil {
		return fmt.Errorf("mode live without an actor")
	}
	for _, d := range []struct {
		of    *time.Duration
		usual time.Duration
		name  string
	}{
		{&c.Period, 10 * time.Second, "period"}, {&c.Settle, 50 * time.Millisecond, "settle"},
		{&c.Explain, 10 * time.Second, "explain"}, {&c.GangDeadline, time.Minute, "gang deadline"}, {&c.Starvation, 0, "starvation"},
	} {
		if *d.of == 0 {
			*d.of = d.usual
		}
		if *d.of < 0 {
			return fmt.Errorf("%s %v, want 0 or more", d.name, *d.of)
		}
	}
	if c.Stops < 0 {
		return fmt.Errorf("%d stops an hour, want 0 or more", c.Stops)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return nil
}
