package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/clustergym/clustergym/internal/atomicfile"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/work"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/train"
)

// poolOptions say which other processes compute labels.
type poolOptions struct {
	workers int           // worker processes to start on this machine
	listen  serve.Address // where other workers connect; Host "" for none
	token   string        // file of the token that they bring
	access  work.Access   // of an external broker; URL "" for none
}

func (o *poolOptions) addFlags(f *pflag.FlagSet) {
	f.IntVar(&o.workers, "workers", 0, "how many worker processes to start for the labels, 0 to compute them in this one")
	f.StringVar(&o.listen.Host, "listen", "", "host:port at which workers of other machines may connect; see clustergym worker")
	f.StringVar(&o.listen.Cert, "tls-cert", "", "file of the certificate for --listen, with its chain")
	f.StringVar(&o.listen.Key, "tls-key", "", "file of the certificate's private key")
	f.StringVar(&o.token, "token-file", "", "file of the token that workers bring; takes precedence over "+tokenVariable)
	f.StringVar(&o.access.URL, "broker", "", "use this server of NATS with JetStream, tls://HOST:PORT, instead of one of its own")
	addBrokerFlags(f, &o.access)
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

// labelPool is a train.Pool that starts the broker and the workers when the first label is needed.
type labelPool struct {
	poolOptions
	dir    string // of the run
	told   func(work.Status)
	warn   func(error)
	say    func(format string, args ...any)
	pool   *work.Pool
	broker *work.Broker
	tasks  sync.WaitGroup
	stop   context.CancelFunc
}

// open returns the pool that the flags describe, nil for none. The caller must call close.
func (o *poolOptions) open(dir string, a *app, warn func(error), told func(work.Status)) (*labelPool, error) {
	if o.workers < 0 {
		return nil, cmdline.Usage("--workers %d, want 0 or more", o.workers)
	}
	if o.access.URL != "" && o.listen.Host != "" {
		return nil, cmdline.Usage("--broker and --listen: want at most one of them")
	}
	if o.workers == 0 && o.listen.Host == "" && o.access.URL == "" {
		return nil, nil
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
	return &labelPool{poolOptions: *o, dir: dir, told: told, warn: warn, say: a.Say}, nil
}

// Start implements train.Pool.
func (p *labelPool) Start(job []byte, take func(unit int, answer []byte) (refused, failed error)) error {
	build, err := work.Build(train.Arithmetic())
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	options := work.PoolOptions{Build: build, Queue: p.access.Queue, Told: p.told, Warn: p.warn, Persist: p.access.URL != ""}
	if p.access.URL != "" {
		options.Conn, err = p.access.Await(ctx, "learner", brokerWait)
	} else {
		if err = p.startBroker(); err == nil {
			options.Conn, err = p.broker.Connect()
		}
	}
	if err != nil {
		return err
	}
	if p.pool, err = work.NewPool(ctx, options); err != nil {
		return err
	}
	if err := p.pool.Start(job, take); err != nil {
		return err
	}
	if err := p.writeContact(); err != nil {
		return fmt.Errorf("start workers: %w", err)
	}
	if p.workers > 0 {
		if err := p.startWorkers(ctx); err != nil {
			return fmt.Errorf("start workers: %w", err)
		}
	}
	if p.listen.Host != "" || p.access.URL != "" {
		p.say("workers: clustergym worker --connect %s", p.url())
	}
	return nil
}

// brokerWait is how long a learner waits for an external broker.
const brokerWait = time.Minute

func (p *labelPool) startBroker() (err error) {
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
func (p *labelPool) url() string {
	if p.broker == nil {
		return p.access.URL
	}
	return p.broker.URL()
}

// Give implements train.Pool.
func (p *labelPool) Give(units ...int) { p.pool.Give(units...) }

// Wait implements train.Pool.
func (p *labelPool) Wait(ctx context.Context, units ...int) error { return p.pool.Wait(ctx, units...) }

// close ends the pool and the workers of this machine. If done is true, workers of other machines end, too.
func (p *labelPool) close(done bool) {
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

// contact is the folder, within that of the run, that says how workers of this machine reach the broker. It exists while the
// broker runs; removeContact removes it.
func (p *labelPool) contact() string { return filepath.Join(p.dir, contactName) }

const (
	contactName = "broker"
	urlName     = "url"
	tokenName   = "token" // not there for a broker without a token
	queueName   = "queue"
)

// writeContact writes that folder.
func (p *labelPool) writeContact() error {
	err := os.MkdirAll(p.contact(), 0o700)
	if err == nil {
		err = atomicfile.WriteBytes(filepath.Join(p.contact(), urlName), 0o600, []byte(p.url()+"\n"))
	}
	if err == nil {
		err = atomicfile.WriteBytes(filepath.Join(p.contact(), queueName), 0o600, []byte(p.access.Queue+"\n"))
	}
	if err == nil && p.access.Token != "" {
		err = atomicfile.WriteBytes(filepath.Join(p.contact(), tokenName), 0o600, []byte(p.access.Token+"\n"))
	}
	return err
}

// removeContact removes that folder, also one that a killed process left. The folder of the run must not be that of another
// process.
func (p *labelPool) removeContact() {
	for _, name := range []string{urlName, queueName, tokenName, ""} {
		_ = os.Remove(filepath.Join(p.contact(), name))
	}
}

// startWorkers starts the worker processes of this machine, and starts them again if they die, until ctx ends.
func (p *labelPool) startWorkers(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"worker", "--connect", p.url(), "--queue", p.access.Queue, "--with-parent", "--quiet"}
	if p.access.Token != "" {
		args = append(args, "--token-file", filepath.Join(p.contact(), tokenName))
	}
	for _, flag := range []struct{ name, value string }{{"--creds", p.access.Creds}, {"--ca", p.authority()}} {
		if flag.value != "" {
			args = append(args, flag.name, flag.value)
		}
	}
	for range p.workers {
		p.tasks.Go(func() { p.keep(ctx, program, args) })
	}
	return nil
}

// authority returns the file of the certificates that a worker of this machine trusts: that of the run's own broker, if
// it has one.
func (p *labelPool) authority() string {
	if p.broker != nil {
		return p.listen.Cert
	}
	return p.access.CA
}

// maxStarts is how often a worker may end with an error, one time after another, before the pool gives up. A worker that has run
// for the time soundTime before does not count.
const (
	maxStarts = 3
	soundTime = 10 * time.Minute
)

// keep runs a worker process again and again until ctx ends. A process that is killed is started again; the pool ends if several
// processes end with an error one after another.
func (p *labelPool) keep(ctx context.Context, program string, args []string) {
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.WaitDelay = 5 * time.Second
		var talk bytes.Buffer
		cmd.Stderr = &talk
		stdin, err := cmd.StdinPipe() // the worker ends when this process ends and so closes it
		if err == nil {
			cmd.Cancel = stdin.Close
			if err = cmd.Start(); err == nil {
				err = cmd.Wait()
			}
			_ = stdin.Close()
		}
		text := names.Escape(strings.TrimSpace(talk.String()))
		exit := new(exec.ExitError)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil: // the pool has just ended
		case errors.As(err, &exit) && exit.ExitCode() < 0: // a signal ended it
			p.warn(fmt.Errorf("a worker process was killed (%w): starting another", err))
		default:
			if time.Since(began) > soundTime {
				failures = 0
			}
			if failures++; failures >= maxStarts {
				p.pool.Fail(fmt.Errorf("worker process: %w: %s", err, text))
				return
			}
			p.warn(fmt.Errorf("worker process: %w: %s: starting another", err, text))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// poolNote returns the text of the progress line while labels are computed.
func poolNote(s work.Status) string {
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
	text := fmt.Sprintf("labels: %d windows done, %d to do  workers %d", s.Done, s.Waiting+s.Busy, live)
	if slow > 0 {
		text += fmt.Sprintf(", %d slow", slow)
	}
	if lost > 0 {
		text += fmt.Sprintf(", %d lost", lost)
	}
	if s.Rate > 0 {
		left := time.Duration(s.Left * float64(time.Second)).Round(time.Second)
		text += fmt.Sprintf("  %.2f windows/s  %v left", s.Rate, left)
	}
	return text
}
