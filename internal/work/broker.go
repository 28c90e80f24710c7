package work

import (
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// BrokerOptions configure a broker in this process.
type BrokerOptions struct {
	Address   string // host:port; port 0 takes a free one
	Cert, Key string // files of the TLS certificate and its key, "" for no TLS
	Token     string // which workers must bring
	Queue     string // name of the pool's queue, which workers may use; "" means DefaultQueue
}

// Broker is a server of NATS within the learner's process. It keeps the units in memory: if the process is killed, the pool gives
// them out again.
type Broker struct {
	server *server.Server
	host   string // as given
	remove func() // removes its folder
	secret string // password of the learner
	token  string // password of workers
	queue  string
	tls    bool
}

const (
	workerUser  = "worker-" // followed by the worker's secret, which begins its inboxes
	learnerUser = "learner"
	startTime   = 20 * time.Second
)

// inboxSecret matches a text that NewToken returns.
var inboxSecret = regexp.MustCompile(`^[A-Z2-7]{26,64}$`)

// StartBroker starts a broker. The caller must call Close. Callers check whether the address may be used without TLS.
func StartBroker(o BrokerOptions) (*Broker, error) {
	b, err := startBroker(o)
	if err != nil {
		return nil, fmt.Errorf("start broker: %w", err)
	}
	return b, nil
}

func startBroker(o BrokerOptions) (*Broker, error) {
	host, port, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, err
	}
	number, err := strconv.Atoi(port)
	if err != nil || number < 0 || number > 1<<16-1 {
		return nil, fmt.Errorf("address %q: port %q, want 0 to 65535", o.Address, port)
	}
	if number == 0 {
		number = server.RANDOM_PORT
	}
	b := &Broker{host: host, secret: NewToken(), token: o.Token, queue: queueName(o.Queue)}
	opts := &server.Options{
		ServerName: "clustergym", Host: host, Port: number, NoSigs: true, NoLog: true, MaxPayload: MaxPayload,
		MaxPending: 16 * MaxPayload, JetStream: true, JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 20,
		CustomClientAuthentication: b,
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("read TLS certificate: %w", err)
		}
		opts.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
		opts.TLS, b.tls = true, true
	}
	if opts.StoreDir, b.remove, err = makeFolder(); err != nil { // JetStream wants a folder for its own files
		return nil, err
	}
	if b.server, err = server.NewServer(opts); err != nil {
		b.remove()
		return nil, err
	}
	b.server.Start()
	if !b.server.ReadyForConnections(startTime) {
		b.Close()
		return nil, fmt.Errorf("not ready at %s after %v: is the address in use?", o.Address, startTime)
	}
	return b, nil
}

// Check implements server.Authentication. Workers have one token, but each reads only the inboxes that begin with its own secret:
// the answers to others are not for it.
func (b *Broker) Check(c server.ClientAuthentication) bool {
	who := c.GetOpts()
	same := func(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
	inbox, worker := strings.CutPrefix(who.Username, workerUser)
	switch {
	case worker && inboxSecret.MatchString(inbox) && b.token != "" && same(who.Password, b.token):
		c.RegisterUser(&server.User{Username: workerUser, Permissions: workerRights(b.queue, inbox)})
		return true
	case who.Username == learnerUser && same(who.Password, b.secret):
		c.RegisterUser(&server.User{Username: learnerUser})
		return true
	}
	return false
}

// workerRights are the subjects that a worker may use: pulling units, saying that it computes them, and asking the learner. The
// parameter inbox is the worker's secret.
func workerRights(queue, inbox string) *server.Permissions {
	return &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"$JS.API.CONSUMER.INFO." + queue + "." + consumerName, "$JS.API.CONSUMER.MSG.NEXT." + queue + "." + consumerName,
			"$JS.ACK." + queue + "." + consumerName + ".>",
			queue + ".hello", queue + ".answer", queue + ".beat", queue + ".table",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{inboxes + inbox + ".>", queue + ".end"}},
	}
}

// URL returns the address for workers of this machine.
func (b *Broker) URL() string {
	host := b.host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	_, port, _ := net.SplitHostPort(b.server.Addr().String())
	u := url.URL{Scheme: "nats", Host: net.JoinHostPort(host, port)}
	if b.tls {
		u.Scheme = "tls"
	}
	return u.String()
}

// Connect returns a connection for a Pool.
func (b *Broker) Connect() (*nats.Conn, error) {
	return nats.Connect("", nats.InProcessServer(b.server), nats.UserInfo(learnerUser, b.secret), nats.Name(learnerUser))
}

// Close stops the broker.
func (b *Broker) Close() {
	b.server.Shutdown()
	b.server.WaitForShutdown()
	b.remove()
}
