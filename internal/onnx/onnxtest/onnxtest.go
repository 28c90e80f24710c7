// Package onnxtest runs ONNX models in tests and benchmarks, with ONNX Runtime in a process of Python.
package onnxtest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/clustergym/clustergym/internal/needs"
	"google.golang.org/protobuf/encoding/protowire"
)

// Tensor is an input or an output of a model.
type Tensor struct {
	Type string `json:"type,omitempty"` // float32 or int64; empty for an output
	Dims []int  `json:"dims"`
	Data any    `json:"data"`
}

// Floats returns a tensor of float32, which may be NaN.
func Floats(data []float32, dims ...int) Tensor {
	list := make([]any, len(data))
	for i, v := range data {
		if list[i] = v; v != v {
			list[i] = "NaN" // JSON has no such number, but the script makes one of the text
		}
	}
	return Tensor{"float32", dims, list}
}

// Ints returns a tensor of int64.
func Ints(data []int64, dims ...int) Tensor {
	return Tensor{"int64", dims, append([]int64{}, data...)}
}

// Session is a model loaded in ONNX Runtime, which uses one thread.
type Session struct {
	tb  testing.TB
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

//go:embed run.py
var script string

// Load loads a model until the test ends. If ONNX Runtime (make onnxruntime) is missing, Load skips the test, or fails it if
// CI=true.
func Load(tb testing.TB, model []byte) *Session {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "policy.onnx")
	if err := os.WriteFile(path, model, 0o600); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(python(tb), "-c", script, path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	return &Session{tb, cmd, in, bufio.NewReader(out)}
}

// python returns the Python of bin/python-venv, into which `make onnxruntime` installs ONNX Runtime.
func python(tb testing.TB) string {
	dir, err := os.Getwd()
	if err != nil {
		tb.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			tb.Fatal("the test runs outside the module")
		}
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "bin", "python-venv", "bin", "python")
	if exec.Command(path, "-c", "import onnxruntime").Run() != nil {
		needs.Missing(tb, "ONNX Runtime", needs.ONNX)
	}
	return path
}

type request struct {
	Feeds map[string]Tensor `json:"feeds,omitempty"`
	Times int               `json:"times"`
}

type answer struct {
	Error   string `json:"error"`
	NS      int64  `json:"ns"`
	Outputs map[string]struct {
		Dims []int     `json:"dims"`
		Data []float64 `json:"data"`
	} `json:"outputs"`
}

// Run runs the model on feeds and returns one output.
func (s *Session) Run(feeds map[string]Tensor, output string) (data []float64, dims []int) {
	s.tb.Helper()
	a := s.ask(request{feeds, 1})
	out, ok := a.Outputs[output]
	if !ok {
		s.tb.Fatalf("ONNX Runtime: no output %q", output)
	}
	return out.Data, out.Dims
}

// Time runs the model several times on the last inputs of Run, and returns the mean time of one run.
func (s *Session) Time(times int) time.Duration {
	s.tb.Helper()
	return time.Duration(s.ask(request{Times: times}).NS) / time.Duration(times)
}

func (s *Session) ask(r request) answer {
	s.tb.Helper()
	if err := json.NewEncoder(s.in).Encode(r); err != nil {
		s.tb.Fatalf("ONNX Runtime: %v", err)
	}
	line, err := s.out.ReadBytes('\n')
	if err != nil {
		s.tb.Fatalf("ONNX Runtime: %v: %v", err, s.cmd.Wait())
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		s.tb.Fatalf("ONNX Runtime: %q: %v", line, err)
	}
	if a.Error != "" {
		s.tb.Fatalf("ONNX Runtime: %s", a.Error)
	}
	return a
}

// Metadata returns the metadata of a model.
func Metadata(tb testing.TB, model []byte) map[string]string {
	tb.Helper()
	const metadataProps = 14
	meta := map[string]string{}
	for _, entry := range fields(tb, model)[metadataProps] {
		pair := fields(tb, entry)
		if len(pair[1]) != 1 || len(pair[2]) != 1 {
			tb.Fatalf("ONNX model: metadata %q, want a key and a value", entry)
		}
		meta[string(pair[1][0])] = string(pair[2][0])
	}
	return meta
}

// fields returns the fields of a protocol buffer that are strings or messages.
func fields(tb testing.TB, b []byte) map[protowire.Number][][]byte {
	tb.Helper()
	found := map[protowire.Number][][]byte{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeField(b)
		if n < 0 {
			tb.Fatalf("ONNX model: %v", protowire.ParseError(n))
		}
		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(b)
			value, _ := protowire.ConsumeBytes(b[tag:])
			found[field] = append(found[field], value)
		}
		b = b[n:]
	}
	return found
}
