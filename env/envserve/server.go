package envserve

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/clustergym/clustergym/env"
	"github.com/clustergym/clustergym/env/game"
	"github.com/clustergym/clustergym/env/observe"
)

// Protocol is the version of requests, replies and memory. It changes when a parent of the version before would no longer
// understand them.
const Protocol = 3

// Kind is the kind of a request.
type Kind uint32

// The kinds. See the package's comment.
const (
	SayHello Kind = 1 + iota
	Reset
	Step
	Render
	Echo
	Save
)

// MaxEnvs is the largest number of environments in a vector.
const MaxEnvs = 1 << 12

// maxMessage is the largest number of bytes in the message of an error.
const maxMessage = 1 << 16

// errNoEpisode is the error of requests that need an episode.
var errNoEpisode = errors.New("no episode has begun: call reset first")

// yieldEvery is how many requests Serve answers before it lets other goroutines run. See there.
const yieldEvery = 64

// Config is what a Server serves.
type Config struct {
	Envs      []env.Env // of equal shape; each with its own encoder. The server takes ownership of them
	Autoreset env.Autoreset
	Workers   int    // how many play at a time; 0 means GOMAXPROCS
	Version   string // of the program
	// Render returns a picture of an environment's episode, in a form that the parent knows. nil for none.
	Render func(e env.Env) ([]byte, error)
}

// Hello is the reply to the request hello.
type Hello struct {
	Protocol   int               `json:"protocol"`
	Version    string            `json:"version"`
	Envs       int               `json:"envs"`
	Agents     int               `json:"agents"`
	Candidates int               `json:"candidates"` // numbers that an agent may name, 0 included
	Jobs       int               `json:"jobs"`       // rows of jobs
	Autoreset  string            `json:"autoreset"`
	Size       int               `json:"size"` // of the memory, in bytes
	Arrays     []Array           `json:"arrays"`
	Server     []observe.Feature `json:"server"`
	Job        []observe.Feature `json:"job"`
	Candidate  []observe.Feature `json:"candidate"`
	Cluster    []observe.Feature `json:"cluster"`
}

// Server serves one vector of environments to one parent. It is not safe for concurrent use.
type Server struct {
	cfg    Config
	spec   game.Spec
	vector *env.Vector
	batch  batch

	ts     [slots][]env.TimeStep
	slot   int // the slot that shows the present time steps
	joints [][]game.Action
	ended  int  // how many environments ended an episode in the last step and began another
	played bool // an episode of every environment was begun, and no call has failed since
	logs   []episodeLog
}

// New returns a server. Attach has to be called before Serve.
func New(cfg Config) (*Server, error) {
	if n := len(cfg.Envs); n < 1 || n > MaxEnvs {
		return nil, fmt.Errorf("make server: %d environments, want 1 to %d", n, MaxEnvs)
	}
	spec := cfg.Envs[0].Spec()
	for i, e := range cfg.Envs {
		if s := e.Spec(); s.Agents != spec.Agents || s.Candidates != spec.Candidates || s.Jobs != spec.Jobs {
			return nil, fmt.Errorf("make server: environment %d has %d agents, %d candidates and %d rows of jobs, want %d, %d and %d as"+
				" environment 0", i, s.Agents, s.Candidates, s.Jobs, spec.Agents, spec.Candidates, spec.Jobs)
		}
	}
	whole := make([]env.Env, len(cfg.Envs))
	for i, e := range cfg.Envs {
		whole[i] = env.NewWholeReturn(e)
	}
	v, err := env.NewVector(whole, cfg.Autoreset, cfg.Workers)
	if err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	s := &Server{
		cfg: cfg, spec: spec, vector: v, joints: make([][]game.Action, len(cfg.Envs)), logs: make([]episodeLog, len(cfg.Envs)),
	}
	if err := s.batch.arrange(len(cfg.Envs), &s.spec); err != nil {
		return nil, fmt.Errorf("make server: %w", err)
	}
	for i := range s.joints {
		s.joints[i] = make([]game.Action, spec.Agents)
	}
	return s, nil
}

// Size returns how many bytes of memory the arrays need.
func (s *Server) Size() int { return s.batch.size }

// Attach has the server use memory, which must hold Size bytes, begin at a multiple of 8 and stay in place while the server is
// used.
func (s *Server) Attach(memory []byte) error {
	if len(memory) != s.Size() {
		return fmt.Errorf("attach memory: %d bytes, want %d", len(memory), s.Size())
	}
	for _, place := range s.batch.place {
		place(memory)
	}
	for slot := range s.ts {
		s.ts[slot] = make([]env.TimeStep, len(s.cfg.Envs))
		for i := range s.ts[slot] {
			s.batch.use(slot*len(s.cfg.Envs)+i, &s.spec, &s.ts[slot][i])
		}
	}
	return nil
}

// Close closes the environments.
func (s *Server) Close() error { return s.vector.Close() }

// Serve answers requests until they end. The end between two requests is no error.
func (s *Server) Serve(requests io.Reader, replies io.Writer) error {
	request, out := make([]byte, 8), make([]byte, 0, 64)
	greeted := false
	refuse := errors.New("the first request was not hello")
	for number := 1; ; number++ {
		// A goroutine that does many short system calls and never yields looks to Go's runtime as if it were in one for 10 ms. The
		// runtime then checks on it every 20 µs, which would take a tenth of the CPU time of small rounds.
		if number%yieldEvery == 0 {
			runtime.Gosched()
		}
		if _, err := io.ReadFull(requests, request); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		kind, argument := Kind(binary.LittleEndian.Uint32(request)), binary.LittleEndian.Uint32(request[4:])
		out = out[:8] // the status and the length are written at the end
		var err error
		switch {
		case kind == SayHello && argument == Protocol:
			greeted = true
			out, err = s.hello(out)
		case kind == SayHello:
			greeted = false
			refuse = fmt.Errorf("the parent speaks protocol %d, clustergym %s speaks %d: install versions that fit", argument,
				s.cfg.Version, Protocol)
			err = refuse
		case !greeted:
			err = refuse
		default:
			out, err = s.answer(kind, argument, out)
		}
		status := uint32(0)
		if err != nil {
			message := err.Error()
			status, out = 1, append(out[:8], message[:min(len(message), maxMessage)]...)
		}
		binary.LittleEndian.PutUint32(out, status)
		binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8)) //nolint:gosec // a message or a picture
		if _, err := replies.Write(out); err != nil {
			return fmt.Errorf("write reply: %w", err)
		}
	}
}

func (s *Server) hello(out []byte) ([]byte, error) {
	p := &s.spec
	text, err := json.Marshal(Hello{
		Protocol, s.cfg.Version, s.vector.Len(), p.Agents, p.Candidates, p.Jobs, s.cfg.Autoreset.String(), s.Size(), s.batch.arrays,
		p.Server, p.Job, p.Candidate, p.Global,
	})
	return append(out, text...), err
}

// answer carries out a request other than hello and appends the reply's content to out.
func (s *Server) answer(kind Kind, argument uint32, out []byte) ([]byte, error) {
	var err error
	switch kind {
	case Reset:
		err = s.reset()
	case Step:
		err = s.step(argument)
	case Render:
		return s.render(argument, out)
	case Echo:
		return binary.LittleEndian.AppendUint32(out, argument), nil
	case Save:
		return s.save(out)
	default:
		return out, fmt.Errorf("request of kind %d, want %d to %d", kind, SayHello, Save)
	}
	if err != nil {
		return out, err
	}
	out = binary.LittleEndian.AppendUint32(out, uint32(s.slot))        //nolint:gosec // 0 or 1
	return binary.LittleEndian.AppendUint32(out, uint32(s.ended)), nil //nolint:gosec // at most MaxEnvs
}

// reset resets the environments that the parent marks.
func (s *Server) reset() error {
	n := s.vector.Len()
	s.ended = 0
	if !slices.Contains(s.batch.reset, 0) {
		s.played = false
		if err := s.vector.Reset(slices.Clone(s.batch.seeds), s.ts[1-s.slot]); err != nil {
			return err
		}
		s.slot, s.played = 1-s.slot, true
		for i := range n {
			s.begin(i)
		}
		return nil
	}
	if !s.played {
		return fmt.Errorf("reset some environments: %w for all of them", errNoEpisode)
	}
	for i := range n {
		if s.batch.reset[i] == 0 {
			continue
		}
		if err := s.vector.ResetEnv(i, s.batch.seeds[i], &s.ts[s.slot][i]); err != nil {
			s.played = false
			return err
		}
		s.begin(i)
	}
	return nil
}

// begin shows the episode that a reset of environment i has begun.
func (s *Server) begin(i int) {
	s.logs[i].begin(s.vector.Episode(i))
	s.show(i)
	s.batch.illegal[s.slot*s.vector.Len()+i] = 0
}

// step plays one round of every environment.
func (s *Server) step(by uint32) error {
	if !s.played {
		return errNoEpisode
	}
	if by > 1 {
		return fmt.Errorf("step by %d, want 0 (actions) or 1 (joint)", by)
	}
	n := s.vector.Len()
	if s.cfg.Autoreset == env.Disabled {
		for i := range n {
			if s.ts[s.slot][i].Over() {
				return fmt.Errorf("step environment %d: %w", i, env.ErrOver)
			}
		}
	}
	next := 1 - s.slot
	for i := range n {
		s.batch.illegal[next*n+i] = s.choose(i, by)
	}
	if err := s.vector.Step(s.joints, s.ts[next]); err != nil {
		s.played = false
		return err
	}
	s.slot, s.ended = next, 0
	for i := range n {
		s.logs[i].step(s.joints[i])
		if seed, episode := s.vector.Episode(i); episode != s.logs[i].Episode {
			s.logs[i].begin(seed, episode)
		}
		s.show(i)
	}
	return nil
}

// choose fills the joint action of environment i and returns how many numbers counted as 0. It reads every number once, because
// the parent may write meanwhile.
func (s *Server) choose(i int, by uint32) (illegal int32) {
	ts, joint := &s.ts[s.slot][i], s.joints[i]
	if len(ts.List) == 0 { // an episode that is over, after which the vector ignores the joint action
		clear(joint)
		return 0
	}
	if by == 0 {
		n := s.batch.actions[i]
		if n < 0 || int(n) > len(ts.List) || n > 0 && ts.List[n-1].Gone {
			n, illegal = 0, 1
		}
		ts.Unanimous(game.Action(n), joint)
		return illegal
	}
	for agent, n := range row(s.batch.joint, i, s.spec.Agents) {
		if n < 0 || int(n) >= s.spec.Candidates || !ts.Legal(agent)[n] {
			n, illegal = 0, illegal+1
		}
		joint[agent] = game.Action(n)
	}
	return illegal
}

// show writes the arrays of environment i, from the present time step.
func (s *Server) show(i int) {
	k := s.slot*s.vector.Len() + i
	s.batch.show(k, &s.ts[s.slot][i])
	if last := s.vector.Final(i); last != nil {
		s.batch.showFinal(i, k, last)
		s.ended++
	}
}

func (s *Server) render(i uint32, out []byte) ([]byte, error) {
	if s.cfg.Render == nil {
		return out, errors.New("render: there is no picture of these environments")
	}
	if !s.played {
		return out, errNoEpisode
	}
	if int(i) >= s.vector.Len() {
		return out, fmt.Errorf("render environment %d, want 0 to %d", i, s.vector.Len()-1)
	}
	picture, err := s.cfg.Render(s.cfg.Envs[i])
	return append(out, picture...), err
}
