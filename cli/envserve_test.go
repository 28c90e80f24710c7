package cli

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/internal/cmdline"
	require "github.com/clustergym/clustergym/internal/must"
)

// ask sends a request to env serve and returns the reply.
func ask(t *testing.T, to io.Writer, from io.Reader, kind envserve.Kind, argument uint32) (text []byte) {
	t.Helper()
	request := binary.LittleEndian.AppendUint32(nil, uint32(kind))
	require.Get(to.Write(binary.LittleEndian.AppendUint32(request, argument)))(t)
	var head [8]byte
	require.Get(io.ReadFull(from, head[:]))(t)
	text = make([]byte, binary.LittleEndian.Uint32(head[4:]))
	require.Get(io.ReadFull(from, text))(t)
	if status := binary.LittleEndian.Uint32(head[:]); status != 0 {
		t.Fatalf("request %d %d: %s", kind, argument, text)
	}
	return text
}

// TestEnvironmentsAreServed plays a few steps through the socket and the memory, and looks at the schedule.
func TestEnvironmentsAreServed(t *testing.T) {
	// The command takes over its ends, so these are descriptors that no os.File owns.
	var requests, replies [2]int
	require.Do(t, errors.Join(unix.Pipe(requests[:]), unix.Pipe(replies[:])))
	to, from := os.NewFile(uintptr(requests[1]), "requests"), os.NewFile(uintptr(replies[0]), "replies")
	defer from.Close()
	memory := require.Get(os.Create(filepath.Join(t.TempDir(), "memory")))(t)
	defer memory.Close()
	ended := make(chan said, 1)
	go func() {
		ended <- command(t, "env", "serve", "-s", "embedded-small-v1", "--envs", "2", "--autoreset", "disabled",
			"--fds", fmt.Sprintf("%d,%d,%d", requests[0], replies[1], memory.Fd()))
	}()
	var hello envserve.Hello
	require.Do(t, json.Unmarshal(ask(t, to, from, envserve.SayHello, envserve.Protocol), &hello))
	if stat, err := memory.Stat(); err != nil || int(stat.Size()) != hello.Size || hello.Envs != 2 || hello.Autoreset != "disabled" {
		t.Fatalf("hello is %+v, the memory %v, %v", hello, stat, err)
	}
	for _, a := range hello.Arrays {
		if a.Name == "reset" {
			require.Get(memory.WriteAt([]byte{1, 1}, int64(a.Offset)))(t)
		}
	}
	ask(t, to, from, envserve.Reset, 0)
	for range 5 {
		ask(t, to, from, envserve.Step, 0)
	}
	var p envPicture
	require.Do(t, json.Unmarshal(ask(t, to, from, envserve.Render, 1), &p))
	if len(p.GPUs) != 8 || p.Until <= 0 || len(p.Boxes) == 0 || p.Names[p.Boxes[0].Job] == "" || !strings.Contains(p.Text, "\n") {
		t.Errorf("the picture is %+v", p)
	}
	to.Close()
	if s := <-ended; s.code != cmdline.CodeOK || s.out != "" || s.talk != "" {
		t.Errorf("exit code %d\n%s%s", s.code, s.out, s.talk)
	}
}

func TestEnvServeRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"--fds -2,3,4: want three": {"--fds", "-2,3,4"},
		"--fds 3,4: want three":    {"--fds", "3,4"},
		"--envs 5000":              {"--fds", "3,3,4", "--envs", "5000"},
		"--autoreset":              {"--fds", "3,3,4", "--autoreset", "never"},
		`required flag(s) "fds"`:   {},
	} {
		s := command(t, append([]string{"env", "serve", "-s", "embedded-small-v1"}, args...)...)
		if s.code != cmdline.CodeUsage || !strings.Contains(s.talk, want) {
			t.Errorf("%v: exit code %d, %q, want %d and %q", args, s.code, s.talk, cmdline.CodeUsage, want)
		}
	}
}
