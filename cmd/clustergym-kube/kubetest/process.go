package kubetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
)

// Process is a child process of the test. It ends with the test at the latest, even if the test is killed (on Linux).
type Process struct {
	Name string
	Log  string // path of the file with its output

	cmd   *exec.Cmd
	ended chan struct{}
}

// Run starts a program, for example the scheduler under test, with the cluster's folder as its working folder; a relative path of
// the program is relative to that folder. Run appends the program's output to the file NAME.log in the folder Logs.
func (c *Cluster) Run(name, program string, args ...string) *Process {
	c.tb.Helper()
	p := &Process{Name: name, Log: filepath.Join(c.Logs, name+".log"), ended: make(chan struct{})}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		c.tb.Fatalf("kubetest: start %s: %v", name, err)
	}
	defer log.Close()
	p.cmd = exec.Command(program, args...)
	p.cmd.Dir = c.Dir
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = diesWithParent()
	if err := p.cmd.Start(); err != nil {
		c.tb.Fatalf("kubetest: start %s: %v", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // a kill is no error; ProcessState contains the result
		close(p.ended)
	}()
	c.processes = append(c.processes, p)
	return p
}

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// ExitCode returns the exit code of the process, or -1 if a signal ended it or it still runs.
func (p *Process) ExitCode() int {
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	default:
		return -1
	}
}

// Signal sends a signal to the process, for example SIGTERM for an orderly end.
func (p *Process) Signal(signal syscall.Signal) error { return p.cmd.Process.Signal(signal) }

// Kill ends the process with SIGKILL and returns when it has ended. The process may have ended before.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // fails only if the process has ended
	<-p.ended
}

// stop kills all processes, the last started first. Nothing outlives the test, so no process needs an orderly end.
func (c *Cluster) stop() {
	for _, p := range slices.Backward(c.processes) {
		p.Kill()
	}
	if !c.tb.Failed() {
		return
	}
	shown := map[string]bool{}
	for _, p := range c.processes {
		if !shown[p.Log] {
			shown[p.Log] = true
			c.tb.Logf("the end of %s:\n%s", p.Log, tail(p.Log, 30))
		}
	}
}

// tail returns the last lines of a file.
func tail(path string, lines int) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	text = bytes.TrimRight(text, "\n")
	at := len(text)
	for ; lines > 0 && at >= 0; lines-- {
		at = bytes.LastIndexByte(text[:at], '\n')
	}
	return text[at+1:]
}

// onFreePort starts a program on a free port and waits until it is ready. If another program takes the port in between, it tries
// other ports.
func (c *Cluster) onFreePort(name string, start func(port int) (*Process, func(context.Context) error)) {
	c.tb.Helper()
	for tries := 5; ; tries-- {
		p, ready := start(c.FreePort())
		err := c.await(p, ready)
		if err == nil {
			return
		}
		if !errors.Is(err, errEnded) || tries == 0 || !bytes.Contains(tail(p.Log, 30), []byte("address already in use")) {
			c.tb.Fatalf("kubetest: start %s: %v", name, err)
		}
	}
}

// FreePort returns a local port on which nothing listens. The port is below the range that the system assigns to outgoing
// connections: such a connection could take the port while the API server is down, even one that dials the API server and thereby
// connects to itself.
func (c *Cluster) FreePort() int {
	c.tb.Helper()
	for range 100 {
		port := 20000 + rand.IntN(10000)
		if listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			if err := listener.Close(); err == nil {
				return port
			}
		}
	}
	c.tb.Fatal("kubetest: find a free port: 100 between 20000 and 29999 are taken")
	return 0
}
