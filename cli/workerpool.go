package cli

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/loopback"
	"github.com/clustergym/clustergym/internal/units"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/train"
)

// poolOptions say which other processes compute units of a command's work.
type poolOptions struct {
	workers int           // worker processes to start on this machine
	listen  serve.Address // where other workers connect; Host "" for none
	token   string        // file of the token that they bring
	access  work.Access   // of an external broker; URL "" for none
	metrics metricsOptions
}

// addFlags adds the flags; the text what says what the workers compute.
func (o *poolOptions) addFlags(f *pflag.FlagSet, what string) {
	f.IntVar(&o.workers, "workers", 0, "how many worker processes to start for "+what+", 0 to compute them in this one")
	f.StringVar(&o.listen.Host, "listen", "", "host:port at which workers of other machines may connect; see clustergym worker")
	f.StringVar(&o.listen.Cert, "tls-cert", "", "file of the certificate for --listen and --metrics, with its chain")
	f.StringVar(&o.listen.Key, "tls-key", "", "file of the certificate's private key")
	f.StringVar(&o.token, "token-file", "", "file of the token that workers bring; takes precedence over "+tokenVariable)
	f.StringVar(&o.access.URL, "broker", "", "use this server of NATS with JetStream, tls://HOST:PORT, instead of one of its own")
	addBrokerFlags(f, &o.access)
	o.metrics.addFlags(f)
}

// addConnectFlags adds the flags by which a command reaches the broker of a run that another process makes.
func addConnectFlags(f *pflag.FlagSet, access *work.Access, token *string) {
	f.StringVar(&access.URL, "connect", "", "address of the broker, tls://HOST:PORT, or nats://127.0.0.1:PORT on this machine")
	f.StringVar(token, "token-file", "", "file of the token; takes precedence over "+tokenVariable)
	addBrokerFlags(f, access)
}

// readAccess reads the token and checks what addConnectFlags has set.
func readAccess(access *work.Access, tokenFile string) (err error) {
	if access.Token, err = readToken(tokenFile); err != nil {
		return err
	}
	if err := access.Validate(); err != nil {
		return cmdline.Usage("--connect: %w", err)
	}
	return nil
}

// addBrokerFlags adds the flags of an external broker.
func addBrokerFlags(f *pflag.FlagSet, access *work.Access) {
	f.StringVar(&access.Creds, "creds", "", "file of credentials for an external broker")
	f.StringVar(&access.CA, "ca", "", "file of the certificates to trust (default those of the system)")
	f.StringVar(&access.Queue, "queue", work.DefaultQueue, "name of the queue: learners that share a broker need different ones")
}

// workerPool starts the broker and the workers when the first job begins. Of gives access to it.
type workerPool struct {
	poolOptions
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
func (o *poolOptions) used() bool { return o.workers > 0 || o.listen.Host != "" || o.access.URL != "" }

// open returns the pool that the flags describe, nil for none. If ctx ends, the pool no longer waits for an external broker. The
// caller must call finish.
func (o *poolOptions) open(
	ctx context.Context, dir string, a *app, warn func(error), told func(work.Status),
) (*workerPool, error) {
	if o.workers < 0 {
		return nil, cmdline.Usage("--workers %d, want 0 or more", o.workers)
	}
	if o.access.URL != "" && o.listen.Host != "" {
		return nil, cmdline.Usage("--broker and --listen: want at most one of them")
	}
	if !o.used() {
		if o.metrics.host != "" {
			return nil, cmdline.Usage("--metrics: want workers, by --workers, --listen or --broker")
		}
		return nil, nil
	}
	if err := o.readMetrics(); err != nil {
		return nil, err
	}
	if err := work.ValidateQueue(o.access.Queue); err != nil {
		return nil, cmdline.Usage("--queue: %w", err)
	}
	token, err := readToken(o.token)
	if err != nil {
		return nil, err
	}
	if o.access.Token = token; o.access.URL != "" {
		if err := o.access.Validate(); err != nil {
			return nil, cmdline.Usage("--broker: %w", err)
		}
	} else if o.listen.Host != "" {
		if token == "" {
			return nil, cmdline.Usage("--listen %s: want a token, in --token-file or %s", o.listen.Host, tokenVariable)
		}
		if err := o.listen.Validate(token); err != nil {
			return nil, cmdline.Usage("--listen: %w", err)
		}
	}
	return &workerPool{poolOptions: *o, dir: dir, ctx: ctx, told: told, warn: warn, say: a.Say}, nil
}

// jobPool is a units.Pool for jobs of one kind. Their workers must know the kind, so the text of a job begins with a line that
// names it.
type jobPool struct {
	*workerPool
	kind string
}

// The kinds of jobs.
const (
	trainJob  = "training" // see train.Worker
	caseJob   = "cases"    // see eval.Player
	searchJob = "searches" // see headroom.Searcher
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
	if err := p.serveMetrics(ctx); err != nil {
		return err
	}
	if p.workers > 0 {
		if err := p.startWorkers(ctx); err != nil {
			return err
		}
	}
	if p.listen.Host != "" || p.access.URL != "" {
		p.say("workers: %s", next("worker", "--connect", p.elsewhere()))
	}
	return nil
}

// brokerWait is how long a learner waits for an external broker.
const brokerWait = time.Minute

func (p *workerPool) startBroker() (err error) {
	o := work.BrokerOptions{
		Address: "127.0.0.1:0", Token: p.access.Token, Queue: p.access.Queue, Cert: p.listen.Cert, Key: p.listen.Key,
	}
	if p.listen.Host != "" {
		o.Address = p.listen.Host
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

// elsewhere returns the address of the broker for workers of other machines: that of --broker or --listen, and if --listen stands
// for all addresses of this machine, with a name of its certificate, because workers check that.
func (p *workerPool) elsewhere() string {
	if p.broker == nil {
		return p.access.URL
	}
	host, _, _ := net.SplitHostPort(p.listen.Host)
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return p.url()
	}
	u, err := url.Parse(p.url())
	if err != nil {
		return p.url()
	}
	u.Host = net.JoinHostPort(certificateHost(p.listen.Cert), u.Port())
	return u.String()
}

// certificateHost returns the first host in a certificate that is not this machine's name for itself, and if there is none the
// machine's name.
func certificateHost(path string) string {
	own, _ := os.Hostname()
	text, err := os.ReadFile(path)
	block, _ := pem.Decode(text)
	if err != nil || block == nil {
		return own
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return own
	}
	hosts := cert.DNSNames
	for _, ip := range cert.IPAddresses {
		hosts = append(hosts, ip.String())
	}
	if i := slices.IndexFunc(hosts, func(host string) bool { return !loopback.Is(host) }); i >= 0 {
		return hosts[i]
	}
	return own
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
