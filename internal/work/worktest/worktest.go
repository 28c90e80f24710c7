// Package worktest runs a server of NATS for tests, as an organisation would run one: apart from any learner, with its units in
// files.
package worktest

import (
	"fmt"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/clustergym/clustergym/internal/work"
)

// Serve runs a server on a port of 127.0.0.1 that keeps its files in dir. It asks for no credentials. Serve returns only on an
// error.
func Serve(dir string, port int) error {
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: port, StoreDir: dir, JetStream: true, MaxPayload: work.MaxPayload, NoLog: true, NoSigs: true,
	})
	if err != nil {
		return fmt.Errorf("test broker: %w", err)
	}
	s.Start()
	s.WaitForShutdown()
	return fmt.Errorf("test broker: it has ended")
}
