package work

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/clustergym/clustergym/internal/loopback"
)

// DefaultQueue is the name of the queue of units, if no other is given.
const DefaultQueue = "clustergym"

const (
	inboxes       = "_INBOX." // prefix of the subjects on which replies are awaited
	consumerName  = "workers"
	reconnectWait = 500 * time.Millisecond
)

// Access says how to reach a broker.
type Access struct {
	URL   string // nats://HOST:PORT for this machine, tls://HOST:PORT for any
	Token string // of the broker that a learner starts
	Creds string // file of credentials for an external broker
	CA    string // file of the certificates to trust, "" for the system's
	Queue string // name of the queue; "" means DefaultQueue
}

func queueName(name string) string { return cmp.Or(name, DefaultQueue) }

// Validate returns an error for an address without TLS on another machine, and for a name that is not valid.
func (a *Access) Validate() error {
	u, err := url.Parse(a.URL)
	if err != nil || u.Host == "" || u.Scheme != "nats" && u.Scheme != "tls" || u.User != nil {
		return fmt.Errorf("address %q, want nats://HOST:PORT or tls://HOST:PORT, without a password", a.URL)
	}
	if u.Scheme == "nats" && !loopback.Is(u.Hostname()) {
		return fmt.Errorf("address %q is on another machine: want tls://, which encrypts", a.URL)
	}
	return ValidateQueue(a.Queue)
}

// ValidateQueue returns an error for a name of a queue that is not valid. The name "" means DefaultQueue.
func ValidateQueue(name string) error {
	if q := queueName(name); !workerText.MatchString(q) || strings.Contains(q, ".") {
		return fmt.Errorf("queue %q, want at most 80 letters, digits, - and _", q)
	}
	return nil
}

// Connect connects to a broker. The connection is made again whenever it is lost. Connect returns an error at once if the broker
// refuses the token or the credentials, or cannot be reached.
func (a *Access) Connect(name string) (*nats.Conn, error) {
	if err := a.Validate(); err != nil {
		return nil, err
	}
	opts := []nats.Option{
		nats.Name(name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectJitter(reconnectWait, reconnectWait),
		nats.PingInterval(5 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // callers see the errors of their requests
	}
	inbox := NewToken()
	opts = append(opts, nats.CustomInboxPrefix(inboxes+inbox))
	if strings.HasPrefix(a.URL, "tls://") {
		opts = append(opts, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	if a.CA != "" {
		opts = append(opts, nats.RootCAs(a.CA))
	}
	if a.Token != "" {
		opts = append(opts, nats.UserInfo(workerUser+inbox, a.Token))
	}
	if a.Creds != "" {
		opts = append(opts, nats.UserCredentials(a.Creds))
	}
	c, err := nats.Connect(a.URL, opts...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", a.URL, err)
	}
	return c, nil
}

// Await is Connect for a worker that may start before the broker: it tries again for the time wait, 0 for without end, unless
// trying again cannot help. It returns nil if ctx ends before.
func (a *Access) Await(ctx context.Context, name string, wait time.Duration) (*nats.Conn, error) {
	for began := time.Now(); ; pause(ctx, time.Second) {
		if ctx.Err() != nil {
			return nil, nil
		}
		conn, err := a.Connect(name)
		if err == nil || a.final(err) || wait > 0 && time.Since(began) > wait {
			return conn, err
		}
	}
}

// final reports whether trying again to connect cannot help after an error: the address is not valid, the broker refuses the
// token or the credentials, a file cannot be read, or the broker's certificate is not trusted or for another name.
func (a *Access) final(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) ||
		errors.As(err, new(*tls.CertificateVerificationError)) || a.Validate() != nil
}

// NewToken returns a token that cannot be guessed.
func NewToken() string { return rand.Text() }
