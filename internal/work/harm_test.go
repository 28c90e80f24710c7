package work

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/clustergym/clustergym/internal/must"
)

// hasty makes a pool that waits only briefly before it gives a unit to a second worker.
func hasty(o *PoolOptions) { o.Patience = 2 * time.Second }

// patient makes a broker that takes a worker for lost only after a time that a busy machine keeps.
func patient(o *PoolOptions) { o.AckWait = 4 * time.Second }

// puller connects as a worker does and pulls a unit.
func (s *site) puller(t *testing.T) (*nats.Conn, jetstream.Msg) {
	t.Helper()
	conn := s.worker(t, "puller").Conn
	t.Cleanup(conn.Close)
	js := must.Get(jetstream.New(conn))(t)
	c := must.Get(js.Consumer(t.Context(), DefaultQueue, consumerName))(t)
	for {
		msg := must.Get(pull(t.Context(), c, time.Second))(t)
		if msg != nil {
			return conn, msg
		}
	}
}

func (s *site) start(t *testing.T, n int) {
	t.Helper()
	must.Do(t, s.pool.Start([]byte("text"), s.take))
	s.pool.Give(units(n)...)
}

// TestAWrongTokenIsRefused checks that the worker does not try again, and that one without a token is refused, too.
func TestAWrongTokenIsRefused(t *testing.T) {
	s := newSite(t, nil)
	for _, token := range []string{"", "wrong", s.token + "x"} {
		access := &Access{URL: s.broker.URL(), Token: token}
		if c, err := access.Await(t.Context(), "w", 0); !errors.Is(err, nats.ErrAuthorization) || c != nil {
			t.Errorf("token %q: error %v, want %v", token, err, nats.ErrAuthorization)
		}
	}
}

// TestWorkersReadOnlyTheirOwnAnswers checks that a worker that has the token cannot subscribe to the inboxes of others, or of all, and
// that its own work.
func TestWorkersReadOnlyTheirOwnAnswers(t *testing.T) {
	s := newSite(t, nil)
	one := must.Get((&Access{URL: s.broker.URL(), Token: s.token}).Connect("one"))(t)
	defer one.Close()
	other, err := (&Access{URL: s.broker.URL(), Token: s.token}).Connect("other")
	must.Do(t, err)
	defer other.Close()
	for subject, allowed := range map[string]bool{
		inboxes + ">": false, inboxes + "*.>": false, ">": false, one.NewInbox() + ".>": false, one.NewInbox(): false, other.NewInbox(): true,
		DefaultQueue + ".end": true, DefaultQueue + ".answer": false,
	} {
		refused := make(chan error, 1)
		other.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { refused <- err })
		sub := must.Get(other.SubscribeSync(subject))(t)
		must.Do(t, other.FlushTimeout(time.Minute))
		select {
		case err := <-refused:
			if allowed || !errors.Is(err, nats.ErrPermissionViolation) {
				t.Errorf("%s: %v", subject, err)
			}
		case <-time.After(50 * time.Millisecond):
			if !allowed {
				t.Errorf("%s: a worker may read it", subject)
			}
		}
		_ = sub.Unsubscribe()
	}
	for _, user := range []string{"worker", "worker-", "worker-*", "worker->", "worker-" + strings.Repeat("A", 25), "worker-a.b", "learner", ""} {
		if c, err := nats.Connect(s.broker.URL(), nats.UserInfo(user, s.token)); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("user %q: error %v", user, err)
			c.Close()
		}
	}
}

// TestMissingFilesAreNotAwaited checks that a worker does not try again if its own files are missing, also when the broker is away.
func TestMissingFilesAreNotAwaited(t *testing.T) {
	s := newSite(t, nil)
	for _, access := range []*Access{
		{URL: "tls://127.0.0.1:1", CA: "missing.pem"}, {URL: s.broker.URL(), Creds: "missing.creds"},
	} {
		if c, err := access.Await(t.Context(), "w", 0); !errors.Is(err, fs.ErrNotExist) || c != nil {
			t.Errorf("%+v: error %v, want %v", access, err, fs.ErrNotExist)
		}
	}
}

// TestAnotherCertificateIsRefused checks that a worker does not try again at a broker whose certificate it does not trust.
func TestAnotherCertificateIsRefused(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	pair := server.TLS.Certificates[0]
	private := must.Get(x509.MarshalPKCS8PrivateKey(pair.PrivateKey))(t)
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, key: {Type: "PRIVATE KEY", Bytes: private},
	} {
		must.Do(t, os.WriteFile(path, pem.EncodeToMemory(block), 0o600))
	}
	broker := must.Get(StartBroker(BrokerOptions{Address: "127.0.0.1:0", Token: "token", Cert: cert, Key: key}))(t)
	defer broker.Close()
	access := &Access{URL: broker.URL(), Token: "token"}
	if c, err := access.Await(t.Context(), "w", 0); !errors.As(err, new(*tls.CertificateVerificationError)) || c != nil {
		t.Errorf("a certificate that nobody signed: error %v", err)
	}
	access.CA = cert
	c := must.Get(access.Await(t.Context(), "w", 0))(t)
	c.Close()
}

// TestAddressesOfOthersNeedTLS checks which addresses a worker connects to.
func TestAddressesOfOthersNeedTLS(t *testing.T) {
	for url, ok := range map[string]bool{
		"nats://127.0.0.1:4222": true, "nats://localhost:4222": true, "nats://[::1]:4222": true, "tls://learner.example:4222": true,
		"nats://learner.example:4222": false, "nats://10.0.0.1:4222": false, "http://127.0.0.1": false, "127.0.0.1:4222": false,
		"nats://worker:secret@127.0.0.1:4222": false, "": false,
	} {
		if err := (&Access{URL: url}).Validate(); (err == nil) != ok {
			t.Errorf("%q: error %v", url, err)
		}
	}
	for _, queue := range []string{"a.b", "a b", "*", ">", strings.Repeat("a", 99)} {
		if err := (&Access{URL: "nats://127.0.0.1:1", Queue: queue}).Validate(); err == nil {
			t.Errorf("queue %q is accepted", queue)
		}
	}
}

// TestAWorkerMayDoNothingElse checks that a worker can neither read answers of others nor change the queue or the job.
func TestAWorkerMayDoNothingElse(t *testing.T) {
	s := newSite(t, nil)
	s.start(t, 3)
	conn, _ := s.puller(t)
	for _, subject := range []string{
		"$JS.API.STREAM.DELETE." + DefaultQueue, "$JS.API.STREAM.PURGE." + DefaultQueue, "$JS.API.STREAM.INFO." + DefaultQueue,
		"$JS.API.STREAM.MSG.GET." + DefaultQueue, "$SYS.REQ.SERVER.PING", DefaultQueue + ".unit.x", DefaultQueue + ".end",
	} {
		if m, err := conn.Request(subject, nil, 300*time.Millisecond); err == nil {
			t.Errorf("%s answered a worker: %s", subject, m.Data)
		}
	}
	for _, subject := range []string{">", DefaultQueue + ".answer", DefaultQueue + ".hello", "$JS.>"} {
		sub, err := conn.SubscribeSync(subject)
		if err != nil {
			continue
		}
		_ = conn.Flush()
		run(t, s.worker(t, fmt.Sprint("honest-", len(subject))))
		if m, err := sub.NextMsg(300 * time.Millisecond); err == nil {
			t.Errorf("%s: a worker reads %s", subject, m.Data)
		}
	}
	s.finish(t, 3)
}

// TestLyingAnswersAreRefused checks that a worker with a wrong answer is refused with the reason, and that another one computes
// its unit.
func TestLyingAnswersAreRefused(t *testing.T) {
	s := newSite(t, nil)
	s.start(t, 4)
	liar := s.worker(t, "liar")
	liar.Open = func(context.Context, []byte) (Compute, error) {
		return func(context.Context, int) ([]byte, error) { return []byte("a lie"), nil }, nil
	}
	refused := new(RefusedError)
	if err := <-run(t, liar); !errors.As(err, &refused) || !strings.Contains(refused.Reason, `worker liar, unit 0: "a lie", want "text 0"`) {
		t.Errorf("a wrong answer: error %v", err)
	}
	conn, msg := s.puller(t)
	m := must.Get(parse(msg.Data(), given))(t)
	m.Worker, m.Digest, m.body = "puller", digest([]byte("another")), []byte(right(m.Unit))
	reply := must.Get(conn.Request(DefaultQueue+".answer", m.encode(), time.Minute))(t)
	if v, err := parse(reply.Data, verdict); err != nil || !strings.Contains(v.Refused, "has the digest "+digest(m.body)) {
		t.Errorf("a wrong digest: %+v, error %v", v, err)
	}
	for text, want := range map[string]string{"no message": "no end of its head", "{}\n": "v: missing"} {
		reply := must.Get(conn.Request(DefaultQueue+".answer", []byte(text), time.Minute))(t)
		if v, err := parse(reply.Data, verdict); err != nil || !strings.Contains(v.Refused, want) {
			t.Errorf("%q: %+v, error %v", text, v, err)
		}
	}
	run(t, s.worker(t, "honest"))
	s.finish(t, 4)
}

// TestTheLearnerRepliesOnlyToInboxes checks that a worker cannot make the learner publish to a subject of its choice.
func TestTheLearnerRepliesOnlyToInboxes(t *testing.T) {
	s := newSite(t, nil)
	s.start(t, 1)
	conn, _ := s.puller(t)
	own := must.Get(s.broker.Connect())(t)
	defer own.Close()
	heard := must.Get(own.SubscribeSync(DefaultQueue + ".end"))(t)
	m := &message{Unit: idle, Build: testBuild, Worker: "puller"}
	must.Do(t, conn.PublishRequest(DefaultQueue+".hello", DefaultQueue+".end", m.encode()))
	if m, err := heard.NextMsg(500 * time.Millisecond); err == nil {
		t.Errorf("the learner published %s", m.Data)
	}
}

// TestUnitsOfBadWorkersGoToOthers checks that units are answered although workers vanish with them, hang, or acknowledge them
// without an answer.
func TestUnitsOfBadWorkersGoToOthers(t *testing.T) {
	s := newSite(t, hasty)
	s.start(t, 6)
	gone, _ := s.puller(t)
	gone.Close()
	_, lie := s.puller(t)
	must.Do(t, lie.DoubleAck(t.Context()))
	_, hung := s.puller(t)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			_ = hung.InProgress()
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	run(t, s.worker(t, "honest"))
	s.finish(t, 6)
	close(stop)
	<-stopped
}

// TestABrokerMayLoseItsUnits checks that the pool publishes units again if the stream is gone.
func TestABrokerMayLoseItsUnits(t *testing.T) {
	s := newSite(t, nil)
	s.start(t, 5)
	s.puller(t) // the units are published
	must.Do(t, s.pool.queue.js.DeleteStream(t.Context(), DefaultQueue))
	run(t, s.worker(t, "honest"))
	s.finish(t, 5)
}

// TestAUnitThatFailsEndsThePool checks that the error tells what the workers say.
func TestAUnitThatFailsEndsThePool(t *testing.T) {
	s := newSite(t, nil)
	s.start(t, 2)
	for i := range maxRefusals {
		w := s.worker(t, fmt.Sprint("w", i))
		w.Open = func(context.Context, []byte) (Compute, error) {
			return func(_ context.Context, unit int) ([]byte, error) {
				if unit == 0 {
					return nil, errors.New("no such trace\x1b[2J")
				}
				return []byte(right(unit)), nil
			}, nil
		}
		run(t, w)
	}
	err := s.pool.Wait(t.Context(), 0, 1)
	if err == nil || !strings.Contains(err.Error(), `5 answers were refused`) || !strings.Contains(err.Error(), `unit 0: no such trace\x1b[2J`) {
		t.Errorf("error %v", err)
	}
}

// TestAFullDiskEndsThePool checks that the error of the learner's disk reaches who waits, and that the answer is not lost: the
// worker keeps it for the next learner.
func TestAFullDiskEndsThePool(t *testing.T) {
	s := newSite(t, patient)
	full := errors.New("store labels: no space left on device")
	must.Do(t, s.pool.Start([]byte("text"), func(int, []byte) (refused, failed error) { return nil, full }))
	s.pool.Give(0)
	w := s.worker(t, "w")
	var computed atomic.Int32
	open := w.Open
	w.Open = func(ctx context.Context, job []byte) (Compute, error) {
		compute, err := open(ctx, job)
		return func(ctx context.Context, unit int) ([]byte, error) { computed.Add(1); return compute(ctx, unit) }, err
	}
	run(t, w)
	if err := s.pool.Wait(t.Context(), 0); !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
	s.pool.Close(false)
	conn, err := s.broker.Connect()
	must.Do(t, err)
	s.pool = must.Get(NewPool(t.Context(), PoolOptions{Conn: conn, Build: testBuild, AckWait: s.pool.AckWait}))(t)
	s.start(t, 1)
	s.finish(t, 1)
	if n := computed.Load(); n != 1 {
		t.Errorf("computed %d times, want once", n)
	}
}

// TestASlowDiskCostsNothing checks that a unit is not given out again while the learner stores its answer.
func TestASlowDiskCostsNothing(t *testing.T) {
	s := newSite(t, patient)
	var computed atomic.Int32
	slow := func(unit int, answer []byte) (refused, failed error) {
		time.Sleep(2 * s.pool.AckWait)
		return s.take(unit, answer)
	}
	must.Do(t, s.pool.Start([]byte("text"), slow))
	s.pool.Give(0)
	for _, name := range []string{"first", "second"} {
		w := s.worker(t, name)
		open := w.Open
		w.Open = func(ctx context.Context, job []byte) (Compute, error) {
			compute, err := open(ctx, job)
			return func(ctx context.Context, unit int) ([]byte, error) { computed.Add(1); return compute(ctx, unit) }, err
		}
		run(t, w)
	}
	s.finish(t, 1)
	if n := computed.Load(); n != 1 {
		t.Errorf("computed %d times, want once", n)
	}
}

// TestAClockMayBeWrong checks that a worker's own idea of time changes nothing: it may say that a unit took an hour or nothing.
func TestAClockMayBeWrong(t *testing.T) {
	s := newSite(t, hasty)
	s.start(t, 3)
	conn, msg := s.puller(t)
	m := must.Get(parse(msg.Data(), given))(t)
	m.Worker, m.Seconds = "puller", 3600
	must.Do(t, conn.Publish(DefaultQueue+".beat", m.encode()))
	m.body = []byte(right(m.Unit))
	m.Digest = digest(m.body)
	must.Get(conn.Request(DefaultQueue+".answer", m.encode(), time.Minute))(t)
	run(t, s.worker(t, "honest"))
	s.finish(t, 3)
}

// TestOneLearnerForAQueue checks that a second learner is refused.
func TestOneLearnerForAQueue(t *testing.T) {
	s := newSite(t, nil)
	conn := must.Get(s.broker.Connect())(t)
	if _, err := NewPool(t.Context(), PoolOptions{Conn: conn, Build: testBuild}); err == nil || !strings.Contains(err.Error(), "in use by another learner") {
		t.Errorf("error %v", err)
	}
}
