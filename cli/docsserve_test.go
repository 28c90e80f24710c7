package cli

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	require "github.com/clustergym/clustergym/internal/must"
)

// serves matches commands that serve until they are stopped.
var serves = regexp.MustCompile(`^clustergym serve --policy `)

// A pageServer is the server that a page has started last. It runs while the following commands of the page run, until the page starts
// another or ends, and listens on a port of its own in place of the one in the page, which another process may use.
type pageServer struct {
	port, where string
	cmd         *exec.Cmd
	out         *bytes.Buffer
}

func newPageServer(t *testing.T) *pageServer {
	t.Helper()
	ln := require.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	defer ln.Close()
	_, port, err := net.SplitHostPort(ln.Addr().String())
	require.Do(t, err)
	return &pageServer{port: port}
}

// moved returns a command with the server's port in place of the one in the page.
func (s *pageServer) moved(line string) string {
	if serves.MatchString(line) {
		if !strings.Contains(line, ":8642") {
			line += " --listen 127.0.0.1:8642"
		}
		line = "exec " + line // so that the process is the server, which gets the signal
	}
	return strings.ReplaceAll(line, ":8642", ":"+s.port)
}

// start stops the server before, starts this one, and waits until it accepts connections.
func (s *pageServer) start(t *testing.T, where string, cmd *exec.Cmd, out *bytes.Buffer) {
	t.Helper()
	s.stop(t)
	if err := cmd.Start(); err != nil {
		t.Fatalf("%s: %v", where, err)
	}
	s.where, s.cmd, s.out = where, cmd, out
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		c, err := new(net.Dialer).DialContext(ctx, "tcp", "127.0.0.1:"+s.port)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ctx.Done():
			s.stop(t)
			t.Fatalf("%s: the server does not listen: %v\n%s", where, err, out)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop interrupts the server, if there is one. It must end with status 0.
func (s *pageServer) stop(t *testing.T) {
	t.Helper()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt) // fails if it has ended, which Wait reports
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("%s: the server ended: %v\n%s", s.where, err, s.out)
	}
	s.cmd = nil
}
