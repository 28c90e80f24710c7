package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/units"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/train"
)

// serverOptions are the flags for a port on which a command listens.
type serverOptions struct {
	Listen string `flag:"listen" help:"host:port to listen on; port 0 takes a free one"`
	Cert   string `flag:"tls-cert" help:"file of the certificate for --listen, with its chain"`
	Key    string `flag:"tls-key" help:"file of the certificate's private key"`
}

func (o *serverOptions) address() *serve.Address {
	return &serve.Address{Host: o.Listen, Cert: o.Cert, Key: o.Key}
}

// brokerOptions are the flags by which a process reaches a broker.
type brokerOptions struct {
	Token string `flag:"token-file" help:"file of the token; takes precedence over CLUSTERGYM_TOKEN"`
	Creds string `flag:"creds" help:"file of credentials for an external broker"`
	CA    string `flag:"ca" help:"file of the certificates to trust (default those of the system)"`
	Queue string `flag:"queue" default:"clustergym" help:"name of the queue: learners that share a broker need different ones"`
}

// poolOptions say which other processes compute units of a command's work.
type poolOptions struct {
	Workers int `flag:"workers" min:"0" help:"how many worker processes to start on this machine, 0 to compute all in this one"`
	serverOptions
	Broker string `flag:"broker" help:"use this server of NATS with JetStream, tls://HOST:PORT, instead of one of its own"`
	brokerOptions
}

// connectOptions are the flags by which a command reaches the broker of a run that another process makes.
type connectOptions struct {
	URL string `flag:"connect" help:"address of the broker, tls://HOST:PORT, or nats://127.0.0.1:PORT on this machine"`
	brokerOptions
}

// access reads the token and returns how to reach the broker.
func (o *connectOptions) access() (work.Access, error) {
	access, err := o.brokerOptions.access(o.URL)
	if err != nil {
		return access, err
	}
	if err := access.Validate(); err != nil {
		return access, cmdline.Usage("--connect: %w", err)
	}
	return access, nil
}

func (o *brokerOptions) access(url string) (work.Access, error) {
	token, err := readToken(o.Token)
	return work.Access{URL: url, Token: token, Creds: o.Creds, CA: o.CA, Queue: o.Queue}, err
}

// workerPool starts the broker and the workers when the first job begins. Of gives access to it.
type workerPool struct {
	poolOptions
	access work.Access     // to the external broker, or to that of this process
	dir    string          // of the run or of the results
	ctx    context.Context // ends the wait for an external broker
	told   func(work.Status)
	warn   func(error)
	say    func(format string, args ...any)
	pool   *work.Pool
	broker *work.Broker
	tasks  sync.WaitGroup
	wrote  bool // the folder that says how to reach the broker
	stop   context.CancelFunc
}

// used reports whether the flags name any other process.
func (o *poolOptions) used() bool { return o.Workers > 0 || o.Listen != "" || o.Broker != "" }

// open returns the pool that the flags describe, nil for none. If ctx ends, the pool no longer waits for an external broker. The
// caller must call finish.
func (o *poolOptions) open(
	ctx context.Context, dir string, a *app, warn func(error), told func(work.Status),
) (*workerPool, error) {
	if o.Broker != "" && o.Listen != "" {
		return nil, cmdline.Usage("--broker and --listen: want at most one of them")
	}
	if !o.used() {
		return nil, nil
	}
	if err := work.ValidateQueue(o.Queue); err != nil {
		return nil, cmdline.Usage("--queue: %w", err)
	}
	access, err := o.brokerOptions.access(o.Broker)
	switch {
	case err != nil:
		return nil, err
	case o.Broker != "":
		if err := access.Validate(); err != nil {
			return nil, cmdline.Usage("--broker: %w", err)
		}
	case o.Listen != "" && access.Token == "":
		return nil, cmdline.Usage("--listen %s: want a token, in --token-file or %s", o.Listen, tokenVariable)
	case o.Listen != "":
		if err := o.address().Validate(access.Token); err != nil {
			return nil, cmdline.Usage("--listen: %w", err)
		}
	}
	return &workerPool{poolOptions: *o, access: access, dir: dir, ctx: ctx, told: told, warn: warn, say: a.Say}, nil
}

// jobPool is a units.Pool for jobs of one kind. Their workers must know the kind, so the text of a job begins with a line that
// names it.
type jobPool struct {
	*workerPool
	kind string
}

// The kinds of jobs.
const (
	trainJob = "training" // see train.Worker
	caseJob  = "cases"    // see eval.Player
)

// of returns the pool for jobs of a kind.
func (p *workerPool) of(kind string) units.Pool { return &jobPool{p, kind} }

// Start implements units.Pool.
func (p *jobPool) Start(job []byte, take func(unit int, answer []byte) (refused, failed error)) error {
	if p.pool == nil {
		if err := p.begin(); err != nil {
			return fmt.Errorf("start workers: %w", err)
		}
	}
	return p.pool.Start(slices.Concat([]byte(p.kind+"\n"), job), take)
}

// Give implements units.Pool.
func (p *jobPool) Give(units ...int) { p.pool.Give(units...) }

// Wait implements units.Pool.
func (p *jobPool) Wait(ctx context.Context, units ...int) error { return p.pool.Wait(ctx, units...) }

// begin connects to the broker, or starts one, and starts the workers.
func (p *workerPool) begin() error {
	build, err := work.Build(train.Arithmetic())
	if err != nil {
		return err
	}
	options := work.PoolOptions{Build: build, Queue: p.access.Queue, Told: p.told, Warn: p.warn, Persist: p.access.URL != ""}
	if p.access.URL != "" {
		options.Conn, err = p.access.Await(p.ctx, "learner", brokerWait)
	} else {
		if err = p.startBroker(); err == nil {
			options.Conn, err = p.broker.Connect()
		}
	}
	if err == nil && options.Conn != nil {
		p.pool, err = work.NewPool(p.ctx, options)
	}
	if err == nil && p.pool == nil || err != nil && p.ctx.Err() != nil {
		err = fmt.Errorf("wait for the broker at %s: %w", p.url(), context.Cause(p.ctx))
	}
	if err == nil {
		err = p.writeContact()
	}
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(p.ctx))
	p.stop = stop
	if p.Workers > 0 {
		if err := p.startWorkers(ctx); err != nil {
			return err
		}
	}
	if p.Listen != "" || p.access.URL != "" {
		p.say("workers: %s", next("worker", "--connect", p.elsewhere()))
	}
	return nil
}

// brokerWait is how long a learner waits for an external broker.
const brokerWait = time.Minute

func (p *workerPool) startBroker() (err error) {
	o := work.BrokerOptions{
		Address: "127.0.0.1:0", Token: p.access.Token, Queue: p.access.Queue, Cert: p.Cert, Key: p.Key,
	}
	if p.Listen != "" {
		o.Address = p.Listen
	} else {
		o.Token = work.NewToken()
	}
	p.access.Token = o.Token
	p.broker, err = work.StartBroker(o)
	return err
}

// url returns the address of the broker for workers of this machine.
func (p *workerPool) url() string {
	if p.broker == nil {
		return p.access.URL
	}
	return p.broker.URL()
}

// elsewhere returns the address of the broker for workers of other machines. Where --listen stands for all addresses of this
// machine, it has the machine's name.
func (p *workerPool) elsewhere() string {
	host, _, _ := net.SplitHostPort(p.Listen)
	if ip := net.ParseIP(host); p.broker == nil || host != "" && (ip == nil || !ip.IsUnspecified()) {
		return p.url()
	}
	name, _ := os.Hostname()
	return strings.Replace(p.url(), "127.0.0.1", name, 1)
}

// finish closes the pool and removes what it wrote into the folder.
func (p *workerPool) finish(done bool) {
	p.close(done)
	if p != nil {
		p.removeContact()
	}
}

// close ends the pool and the workers of this machine. If done is true, workers of other machines end, too.
func (p *workerPool) close(done bool) {
	if p == nil {
		return
	}
	if p.pool != nil {
		p.pool.Close(done)
	}
	if p.stop != nil {
		p.stop()
	}
	p.tasks.Wait()
	if p.broker != nil {
		p.broker.Close()
	}
}

// poolNote returns the text of the progress line while workers compute units, which it calls what.
func poolNote(what string, s work.Status) string {
	live, slow, lost := 0, 0, 0
	for _, w := range s.Workers {
		switch w.State {
		case work.Lost:
			lost++
			continue
		case work.Slow:
			slow++
		}
		live++
	}
	text := fmt.Sprintf("%s: %d done, %d to do  workers %d", what, s.Done, s.Waiting+s.Busy, live)
	if slow > 0 {
		text += fmt.Sprintf(", %d slow", slow)
	}
	if lost > 0 {
		text += fmt.Sprintf(", %d lost", lost)
	}
	if s.Rate > 0 {
		left := time.Duration(s.Left * float64(time.Second)).Round(time.Second)
		text += fmt.Sprintf("  %.2f/s  %v left", s.Rate, left)
	}
	return text
}
