package envserve

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/env/game"
)

// episodeLog is how an environment got to where it is: the episode that it plays, and the joint actions of its steps. Playing
// them again gives the same state, because environments are deterministic.
type episodeLog struct {
	Seed    uint64 `json:"seed"`    // of the sequence of episodes, as env.Vector.Episode returns it
	Episode uint64 `json:"episode"` // index in this sequence
	// Steps has for each step how many agents did not pass, and for each of them its index and its number, as varints.
	Steps []byte `json:"steps"`
}

// begin empties the log for an episode.
func (l *episodeLog) begin(seed, episode uint64) {
	*l = episodeLog{seed, episode, l.Steps[:0]}
}

// step appends a joint action.
func (l *episodeLog) step(joint []game.Action) {
	named := 0
	for _, n := range joint {
		if n != game.Pass {
			named++
		}
	}
	l.Steps = binary.AppendUvarint(l.Steps, uint64(named)) //nolint:gosec // not negative
	for agent, n := range joint {
		if n != game.Pass {
			l.Steps = binary.AppendUvarint(l.Steps, uint64(agent)) //nolint:gosec // not negative
			l.Steps = binary.AppendUvarint(l.Steps, uint64(n))     //nolint:gosec // checked: legal numbers are not negative
		}
	}
}

// errSteps is the error of steps that no server has saved.
var errSteps = errors.New("steps are cut short, or name an agent that there is not")

// next takes the first joint action off the steps and fills joint with it.
func (l *episodeLog) next(joint []game.Action) error {
	number := func(below int) int {
		x, n := binary.Uvarint(l.Steps)
		if n <= 0 || x >= uint64(below) { //nolint:gosec // not negative
			return -1
		}
		l.Steps = l.Steps[n:]
		return int(x) //nolint:gosec // less than below
	}
	clear(joint)
	named := number(len(joint) + 1)
	for range named {
		agent, n := number(len(joint)), number(1<<31)
		if agent < 0 || n < 0 {
			return errSteps
		}
		joint[agent] = game.Action(n) //nolint:gosec // less than 1<<31
	}
	if named < 0 {
		return errSteps
	}
	return nil
}

// save appends the logs of all environments as JSON, an empty list before the first reset.
func (s *Server) save(out []byte) ([]byte, error) {
	logs := s.logs
	if !s.played {
		logs = []episodeLog{}
	}
	text, err := json.Marshal(logs)
	return append(out, text...), err
}

// Restore brings the environments to where those of another server were when it answered a request to save, with its reply. The
// other server must have served equal environments. Call it between Attach and Serve. It takes as long as playing the present
// episodes took; their present time steps are then in slot 0.
func (s *Server) Restore(saved []byte) error {
	var logs []episodeLog
	if err := json.Unmarshal(saved, &logs); err != nil {
		return fmt.Errorf("restore environments: %w", err)
	}
	if n := len(logs); n != 0 && n != s.vector.Len() {
		return fmt.Errorf("restore environments: %d were saved, want the %d that are served", n, s.vector.Len())
	}
	for i := range logs {
		if err := s.replay(i, logs[i]); err != nil {
			return fmt.Errorf("restore environment %d: %w", i, err)
		}
	}
	s.played = len(logs) > 0
	return nil
}

// replay plays an environment's present episode again.
func (s *Server) replay(i int, l episodeLog) error {
	if err := s.vector.ResumeEnv(i, l.Seed, l.Episode, &s.ts[0][i]); err != nil {
		return err
	}
	s.begin(i)
	joints := make([][]game.Action, s.vector.Len()) // nil leaves an environment alone
	joints[i] = s.joints[i]
	for len(l.Steps) > 0 {
		if err := l.next(joints[i]); err != nil {
			return err
		}
		if err := s.vector.Step(joints, s.ts[0]); err != nil {
			return err
		}
		s.logs[i].step(joints[i])
		if _, episode := s.vector.Episode(i); episode != l.Episode {
			return errors.New("the steps go on beyond the episode")
		}
	}
	s.show(i)
	return nil
}
