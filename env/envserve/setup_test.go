package envserve_test

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"time"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/envserve"
	"github.com/clustergym/clustergym/env/envtest"
	"github.com/clustergym/clustergym/env/trace"
)

// fatal is what *testing.T and *rapid.T share.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// environments returns n toys with jobs that depend on the seed. The seed 0 gives an episode of one job, in which there is nothing
// to choose.
func environments(t fatal, n int) (envs []env.Env) {
	t.Helper()
	for range n {
		cfg, err := envtest.Toys()[2].Config()
		if err != nil {
			t.Fatalf("%v", err)
		}
		all, err := cfg.Jobs(0)
		if err != nil {
			t.Fatalf("%v", err)
		}
		cfg.Jobs = func(seed uint64) ([]trace.Job, error) {
			if seed == 0 {
				return all[3:], nil
			}
			draw := rand.New(rand.NewPCG(seed, 1))
			jobs := slices.Clone(all)
			for i := range jobs {
				jobs[i].Submit = time.Duration(draw.IntN(20)) * time.Second
				jobs[i].Work = time.Duration(1+draw.IntN(200)) * time.Second
			}
			return jobs, nil
		}
		e, err := env.New(cfg)
		if err != nil {
			t.Fatalf("%v", err)
		}
		envs = append(envs, e)
	}
	return envs
}

// parent is the other end of a server.
type parent struct {
	t      fatal
	conn   io.ReadWriteCloser
	memory []byte
	arrays map[string]envserve.Array
	hello  envserve.Hello
	ended  chan error

	replaced int // how many environments replaced an episode in the last step, as its reply says
}

// start serves environments, as they were saved if they were, until the test calls end.
func start(t fatal, cfg envserve.Config, saved ...string) *parent {
	t.Helper()
	s, err := envserve.New(cfg)
	if err != nil {
		t.Fatalf("%v", err)
	}
	own, other := net.Pipe()
	p := &parent{t: t, conn: own, memory: make([]byte, s.Size()), arrays: map[string]envserve.Array{}, ended: make(chan error, 1)}
	if err := s.Attach(p.memory); err != nil {
		t.Fatalf("%v", err)
	}
	for _, text := range saved {
		if err := s.Restore([]byte(text)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	go func() { p.ended <- s.Serve(other, other) }()
	if err := json.Unmarshal([]byte(p.done(envserve.SayHello, envserve.Protocol)), &p.hello); err != nil {
		t.Fatalf("%v", err)
	}
	for _, a := range p.hello.Arrays {
		p.arrays[a.Name] = a
	}
	return p
}

// end closes the connection, on which the server ends.
func (p *parent) end() {
	p.t.Helper()
	p.conn.Close()
	if err := <-p.ended; err != nil {
		p.t.Fatalf("the server ends with %v", err)
	}
}

// call sends a request and returns the reply.
func (p *parent) call(kind envserve.Kind, argument uint32) (status uint32, text string) {
	p.t.Helper()
	request := binary.LittleEndian.AppendUint32(nil, uint32(kind))
	if _, err := p.conn.Write(binary.LittleEndian.AppendUint32(request, argument)); err != nil {
		p.t.Fatalf("write request: %v", err)
	}
	var head [8]byte
	if _, err := io.ReadFull(p.conn, head[:]); err != nil {
		p.t.Fatalf("read reply: %v", err)
	}
	body := make([]byte, binary.LittleEndian.Uint32(head[4:]))
	if _, err := io.ReadFull(p.conn, body); err != nil {
		p.t.Fatalf("read reply: %v", err)
	}
	return binary.LittleEndian.Uint32(head[:]), string(body)
}

// done sends a request that must succeed.
func (p *parent) done(kind envserve.Kind, argument uint32) string {
	p.t.Helper()
	status, text := p.call(kind, argument)
	if status != 0 {
		p.t.Fatalf("request %d %d: %s", kind, argument, text)
	}
	return text
}

// slot sends a request that replies with a slot and how many environments replaced an episode.
func (p *parent) slot(kind envserve.Kind, argument uint32) int {
	p.t.Helper()
	content := []byte(p.done(kind, argument))
	p.replaced = int(binary.LittleEndian.Uint32(content[4:]))
	return int(binary.LittleEndian.Uint32(content))
}

// put writes whole numbers into an array from its beginning.
func (p *parent) put(name string, numbers ...uint64) {
	a := p.arrays[name]
	for i, n := range numbers {
		switch at := a.Offset; a.Type {
		case "uint8":
			p.memory[at+i] = uint8(n)
		case "int32":
			binary.LittleEndian.PutUint32(p.memory[at+4*i:], uint32(n))
		case "uint64":
			binary.LittleEndian.PutUint64(p.memory[at+8*i:], n)
		}
	}
}

// row reads row i of a slot of an array, or row i of an array without slots if slot is -1.
func (p *parent) row(name string, slot, i int) (numbers []float64) {
	p.t.Helper()
	a, ok := p.arrays[name]
	if !ok {
		p.t.Fatalf("there is no array %s", name)
	}
	shape, k := a.Shape[1:], i
	if slot >= 0 {
		shape, k = a.Shape[2:], slot*a.Shape[1]+i
	}
	n := 1
	for _, d := range shape {
		n *= d
	}
	for i := k * n; i < (k+1)*n; i++ {
		switch a.Type {
		case "bool", "uint8":
			numbers = append(numbers, float64(p.memory[a.Offset+i]))
		case "int32":
			numbers = append(numbers, float64(int32(binary.LittleEndian.Uint32(p.memory[a.Offset+4*i:]))))
		case "float32":
			numbers = append(numbers, float64(math.Float32frombits(binary.LittleEndian.Uint32(p.memory[a.Offset+4*i:]))))
		case "float64":
			numbers = append(numbers, math.Float64frombits(binary.LittleEndian.Uint64(p.memory[a.Offset+8*i:])))
		}
	}
	return numbers
}

// equal fails if a row is not what is wanted.
func equal[T float32 | float64 | int32 | bool](p *parent, name string, slot, i int, want []T) {
	p.t.Helper()
	got := p.row(name, slot, i)
	same := len(got) == len(want)
	for k := 0; same && k < len(got); k++ {
		same = got[k] == number(want[k])
	}
	if !same {
		p.t.Fatalf("%s of environment %d in slot %d: %v, want %v", name, i, slot, got, want)
	}
}

func number(x any) float64 {
	switch x := x.(type) {
	case float32:
		return float64(x)
	case float64:
		return x
	case int32:
		return float64(x)
	}
	if x == true {
		return 1
	}
	return 0
}
