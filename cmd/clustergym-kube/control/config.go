package control

import (
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/serve/decide"
)

// Mode limits what the scheduler may do.
type Mode string

// The modes, each of which may do more than the one before.
const (
	off    Mode = "off"    // decides nothing
	Shadow Mode = "shadow" // decides, compares with what another scheduler did, and writes nothing
	Live   Mode = "live"   // writes its decisions to the cluster
)

// level returns the rank of a mode among the modes. An unknown mode has the rank of off.
func (m Mode) level() int {
	switch m {
	case Live:
		return 2
	case Shadow:
		return 1
	}
	return 0
}

// Config configures a Loop. The loop reads through Client and Dynamic, and writes through Actor alone.
type Config struct {
	Mode      Mode
	Namespace string // of the ConfigMaps ControlName and ledgerName
	Client    kubernetes.Interface
	Dynamic   dynamic.Interface
	Actor     *act.Actor // nil in shadow mode
	Mirror    mirror.Config
	Decider   *decide.Decider
	Readings  *measure.Readings // of running gangs; nil for none

	Period time.Duration // between rounds if nothing changes, 10 s if 0
	// GangDeadline is how long a gang that never ran may be partly bound, 1 min if 0. After that the loop deletes the gang's bound
	// pods, so that their owner creates new ones.
	GangDeadline time.Duration
	// LossDeadline is how long a gang that ran may lack pods, 10 min if 0. After that the loop evicts the gang's other pods.
	LossDeadline time.Duration
	// Stops is the number of gangs that the loop may stop or move in an hour; 0 for none.
	Stops int
	// Across allows to stop a gang so that a gang of the same priority in another namespace gets its GPUs.
	Across bool
	// Starvation is the waiting time after which a gang goes before all others; 0 for never. After that, the gang holds back starts
	// that would delay it, for at most the same time again.
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
		{&c.Period, 10 * time.Second, "period"},
		{&c.GangDeadline, time.Minute, "gang deadline"},
		{&c.LossDeadline, 10 * time.Minute, "loss deadline"}, {&c.Starvation, 0, "starvation"},
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
