package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/klog/v2"

	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/mirror"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
)

// serve runs the scheduler until the context ends or another process leads.
func (o *options) serve(ctx context.Context, talk io.Writer) (err error) {
	log := slog.New(o.handler(talk))
	klog.SetSlogLogger(log.With("from", "client-go")) // client-go's log goes to this log
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	decider, end, err := o.decider(registry, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	c, err := o.connect(ctx, log)
	if err != nil {
		return err
	}
	c.Decider, c.Log = decider, log
	poller, err := o.readings(c, registry, log)
	if err != nil {
		return err
	}
	loop, err := control.New(c.Config, registry)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var rest sync.WaitGroup
	defer rest.Wait()
	defer stop()
	if err := o.listen(ctx, &rest, loop, registry, log); err != nil {
		return err
	}
	rest.Go(func() { reload(ctx, decider) })
	if poller != nil {
		rest.Go(func() { poller.Run(ctx) })
	}
	if err := loop.Sync(ctx); err != nil {
		return err
	}
	served := decider.Served()
	log.Info("ready", "mode", o.mode, "policy", served.Policy, "digest", served.Digest, "fallback", served.Fallback,
		"version", version)
	if !o.elect {
		loop.Run(ctx)
		decider.Keep(true)
		return nil
	}
	return lead(ctx, c, usualLease, func(leading context.Context) {
		if err := decider.Recall(); err != nil { // the leader before has saved since this process began
			log.Error("beliefs not read: this process begins with those that it has", "error", err)
		}
		loop.Run(leading)
		if ctx.Err() != nil { // not if another process leads now, which may have saved since
			decider.Keep(true)
		}
	}, log)
}

func (o *options) handler(talk io.Writer) slog.Handler {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if o.verbose {
		opts.Level = slog.LevelDebug
	}
	return serve.LogHandler(talk, opts)
}

// decider loads the policy and returns its decider. The function end closes the decision log.
func (o *options) decider(registry prometheus.Registerer, log *slog.Logger) (d *decide.Decider, end func() error, err error) {
	end = func() error { return nil }
	finder := &policy.Finder{Memory: true}
	if o.verifyKey != "" {
		if finder.Key, err = checkpoints.ReadVerifyKey(o.verifyKey); err != nil {
			return nil, end, err
		}
	}
	c := decide.Config{
		Fallback: finder.Fallback(o.fallback), Seed: seed, Deadline: o.deadline, Registry: registry, Log: log,
		Beliefs: o.beliefs,
	}
	if c.Source, err = finder.Find(o.policy); err != nil {
		return nil, end, err
	}
	if o.objective != "" {
		if c.Objective, err = objectives.Open(o.objective); err != nil {
			return nil, end, err
		}
	}
	if o.starts > 0 {
		c.Forecaster, c.Forecasts = &whatif.Forecaster{Options: whatif.Options{Seed: seed}}, o.starts
	}
	if o.log != "" {
		frame := decide.Record{Build: version, Physics: "ideal", Seed: seed}
		if c.Objective != nil {
			frame.Objective = c.Objective.Text()
		}
		if c.Decisions, err = decide.OpenLog(o.log, frame); err != nil {
			return nil, end, err
		}
		end = c.Decisions.Close
	}
	d, err = decide.New(c)
	return d, end, err
}

// readings makes the loop read what gangs report. It returns the poller of Prometheus, nil if there is none.
func (o *options) readings(c *connected, registry prometheus.Registerer, log *slog.Logger) (p *measure.Poller, err error) {
	queries, err := measure.NewQueries(registry)
	if err != nil {
		return nil, err
	}
	var samples func() map[measure.Pod]measure.Sample
	if o.prometheus.URL != "" {
		o.prometheus.Timeout = prometheusTimeout
		if p, err = measure.NewPoller(o.prometheus, queries, log); err != nil {
			return nil, err
		}
		samples = p.Samples
	}
	c.Readings, err = measure.New(o.measured, samples, registry, log)
	return p, err
}

const (
	seed              = 1                // of policies that draw random numbers
	poll              = 2 * time.Second  // time between two checks whether the bundle has changed
	prometheusTimeout = 10 * time.Second // of a query
)

// reload reloads the policy whenever its bundle has changed, which it checks periodically, and on SIGHUP, when it also
// reopens the decision log. It saves what was learned, too.
func reload(ctx context.Context, d *decide.Decider) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	ticks := time.NewTicker(poll)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			d.Reload(false)
			d.Keep(false)
		case <-hup:
			d.ReopenLog()
			d.Reload(true)
		}
	}
}

// mirrorConfig returns the mirror's settings from the flags. The zero of the clock is the Unix epoch, so that the decision logs
// of different processes use the same times.
func (o *options) mirrorConfig() mirror.Config {
	return mirror.Config{
		Schedulers: o.schedulers, GPU: o.resource(), TypeLabel: o.typeLabel, RackLabel: o.rackLabel, Estimate: o.estimate,
		Epoch: time.Unix(0, 0),
	}
}

var errLost = errors.New("another one leads")
