package fit

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// applications are the applications of Pollux, in the order of the fits.
var applications = []string{"bert", "cifar10", "deepspeech2", "imagenet", "ncf", "yolov3"}

// stepTime is one measured training step of Pollux.
type stepTime struct {
	Nodes, Replicas int32
	Batch           float64 // samples of each replica
	Seconds         float64
}

const (
	maxSteps      = 100_000
	maxPolluxLine = 4096 // bytes
)

// readPlacements reads Pollux's placements.csv: placement (the number of replicas on each server, one digit each), local_bsz,
// step_time, sync_time. Errors contain the line, the field, the value and what was expected.
func readPlacements(r io.Reader) ([]stepTime, error) {
	return readSteps(r, []string{"placement", "local_bsz", "step_time", "sync_time"}, func(row []string) (s stepTime, err error) {
		for _, digit := range row[0] {
			if digit < '1' || digit > '9' || len(row[0]) > 64 {
				return s, fmt.Errorf("placement %.80q, want up to 64 digits from 1 to 9, the replicas of each server", row[0])
			}
			s.Nodes++
			s.Replicas += digit - '0'
		}
		if s.Nodes == 0 {
			return s, fmt.Errorf(`placement "", want the replicas of each server`)
		}
		return s, s.times(row[1], row[2])
	})
}

// readScalability reads Pollux's scalability.csv: num_nodes, num_replicas, local_bsz, step_time, sync_time. Its errors are like
// those of readPlacements.
func readScalability(r io.Reader) ([]stepTime, error) {
	header := []string{"num_nodes", "num_replicas", "local_bsz", "step_time", "sync_time"}
	return readSteps(r, header, func(row []string) (s stepTime, err error) {
		if s.Nodes, err = count("num_nodes", row[0]); err != nil {
			return s, err
		}
		if s.Replicas, err = count("num_replicas", row[1]); err != nil {
			return s, err
		}
		if s.Replicas < s.Nodes {
			return s, fmt.Errorf("num_replicas %d on %d nodes, want one each at least", s.Replicas, s.Nodes)
		}
		return s, s.times(row[2], row[3])
	})
}

func (s *stepTime) times(batch, seconds string) error {
	var err error
	if s.Batch, err = positive("local_bsz", batch); err != nil {
		return err
	}
	s.Seconds, err = positive("step_time", seconds)
	return err
}

func readSteps(r io.Reader, header []string, step func([]string) (stepTime, error)) ([]stepTime, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, maxPolluxLine), maxPolluxLine)
	var steps []stepTime
	line := 0
	for scanner.Scan() {
		line++
		row := strings.Split(strings.TrimSuffix(scanner.Text(), "\r"), ",")
		if line == 1 {
			if strings.Join(row, ",") != strings.Join(header, ",") {
				return nil, fmt.Errorf("line 1: header %q, want %q", row, header)
			}
			continue
		}
		if len(row) != len(header) {
			return nil, fmt.Errorf("line %d: %d fields, want %d: %v", line, len(row), len(header), header)
		}
		s, err := step(row)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if steps = append(steps, s); len(steps) > maxSteps {
			return nil, fmt.Errorf("line %d: more than %d steps", line, maxSteps)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("line %d: no steps, want a header and at least one", line)
	}
	return steps, nil
}

func count(name, value string) (int32, error) {
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 || n > 1<<20 {
		return 0, fmt.Errorf("%s %.80q, want a whole number from 1 to %d", name, value, 1<<20)
	}
	return int32(n), nil
}

func positive(name, value string) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || !(x > 1e-9 && x < 1e9) {
		return 0, fmt.Errorf("%s %.80q, want a number above 1e-9 and below 1e9", name, value)
	}
	return x, nil
}

// openPollux reads both files of one application.
func openPollux(dir, application string) ([]stepTime, error) {
	var all []stepTime
	for _, part := range []struct {
		name string
		read func(io.Reader) ([]stepTime, error)
	}{{"placements.csv", readPlacements}, {"scalability.csv", readScalability}} {
		steps, err := openSteps(filepath.Join(dir, "pollux", application, part.name), part.read)
		if err != nil {
			return nil, err
		}
		all = append(all, steps...)
	}
	return all, nil
}

func openSteps(path string, read func(io.Reader) ([]stepTime, error)) ([]stepTime, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	steps, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return steps, nil
}
