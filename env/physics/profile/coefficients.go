package profile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Coefficients are the fitted parameters of the performance model.
type Coefficients struct {
	Jobs     map[string]Job     // by family
	Surfaces map[string]Surface // by model of Synergy
	Scalings map[string]Scaling // by application of Pollux
}

// Job contains the parameters fitted to Gavel's measurements of one job type. The arrays are indexed by GPU type: V100, P100,
// K80.
type Job struct {
	Rate      [measured]float64 // iterations per second when it runs alone
	S, P      [measured][2]float64
	GPUMemMiB float64
}

// maxLine is the maximum length of a line of coefficients.txt in bytes, maxLines the maximum number of lines.
const (
	maxLine  = 4096
	maxLines = 10_000
)

// field is one number of a record: its name, where to store it, and its bounds.
type field struct {
	name       string
	value      *float64
	least, max float64
}

func (s *Surface) fields() []field {
	return []field{
		{"cpu", &s.CPU, 1e-9, 1e9}, {"cpu_power", &s.CPUPower, 1e-9, 100},
		{"fetch", &s.Fetch, 1e-9, 1e9}, {"fetch_power", &s.FetchPower, 1e-9, 100},
		{"hold", &s.Hold, 1e-9, 1e9}, {"hold_power", &s.HoldPower, 1e-9, 100},
		{"gpu", &s.GPU, 1e-9, 1e9}, {"sharpness", &s.Sharpness, 1, 100},
	}
}

func (s *Scaling) fields() []field {
	const most = 1e6
	return []field{
		{"compute_base", &s.ComputeBase, 1e-12, most}, {"compute_per_sample", &s.ComputePerSample, 1e-12, most},
		{"local_base", &s.LocalBase, 1e-12, most}, {"local_per_replica", &s.LocalPerReplica, 0, most},
		{"remote_base", &s.RemoteBase, 1e-12, most}, {"remote_per_replica", &s.RemotePerReplica, 0, most},
		{"gamma", &s.Gamma, 1, 10}, {"min_batch", &s.MinBatch, 1e-9, 1e9}, {"max_batch", &s.MaxBatch, 1e-9, 1e9},
	}
}

func (j *Job) fields(g int) []field {
	return []field{
		{"rate", &j.Rate[g], 1e-9, 1e9}, {"s1", &j.S[g][0], 0, 1e3}, {"s2", &j.S[g][1], 0, 1e3},
		{"p1", &j.P[g][0], 0, 1e3}, {"p2", &j.P[g][1], 0, 1e3},
	}
}

// complete returns an error if a record of the job type is missing.
func (j *Job) complete() error {
	for g, rate := range j.Rate {
		if rate == 0 {
			return fmt.Errorf("no record gavel of %s", MeasuredGPUs[g])
		}
	}
	if j.GPUMemMiB == 0 {
		return errors.New("no record memory")
	}
	return nil
}

func (j *Job) memory() []field { return []field{{"mib", &j.GPUMemMiB, 1, 1e7}} }

// parseCoefficients reads what WriteCoefficients wrote. A record is a line
//
//	gavel NAME GPU      rate=... s1=... s2=... p1=... p2=...
//	memory NAME         mib=...
//	synergy MODEL       cpu=... cpu_power=... and the other fields of Surface
//	pollux APPLICATION  compute_base=... and the other fields of Scaling
//
// with its fields in that order. parseCoefficients skips empty lines and everything from # to the end of a line. Errors name the
// line, the value and what was expected. It does not check that every family has its records; build does.
func parseCoefficients(r io.Reader) (*Coefficients, error) {
	c := &Coefficients{Jobs: map[string]Job{}, Surfaces: map[string]Surface{}, Scalings: map[string]Scaling{}}
	seen := map[string]bool{}
	scanner := bufio.NewScanner(r)
	scanner.Buffer(make([]byte, 0, maxLine), maxLine)
	line := 0
	for scanner.Scan() {
		line++
		if line > maxLines {
			return nil, fmt.Errorf("line %d: more than %d lines", line, maxLines)
		}
		text, _, _ := strings.Cut(scanner.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		key, err := c.record(words)
		if err == nil && seen[key] {
			err = fmt.Errorf("%s twice, want it once", key)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		seen[key] = true
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", line+1, err)
	}
	return c, nil
}

// record reads one line and returns a key that identifies the record.
func (c *Coefficients) record(words []string) (key string, err error) {
	kind := words[0]
	if len(words) < 3 {
		return "", fmt.Errorf("%q has %d words, want a kind, a name and values", kind, len(words))
	}
	name, values := words[1], words[2:]
	switch kind {
	case "gavel":
		g := slices.Index(MeasuredGPUs[:], values[0])
		if g < 0 {
			return "", fmt.Errorf("gavel %s: GPU type %q, want one of %v", name, values[0], MeasuredGPUs)
		}
		job := c.Jobs[name]
		err = read(job.fields(g), values[1:])
		c.Jobs[name] = job
		return kind + " " + name + " " + values[0], err
	case "memory":
		job := c.Jobs[name]
		err = read(job.memory(), values)
		c.Jobs[name] = job
	case "synergy":
		var s Surface
		err = read(s.fields(), values)
		c.Surfaces[name] = s
	case "pollux":
		var s Scaling
		if err = read(s.fields(), values); err == nil && s.MinBatch > s.MaxBatch {
			err = fmt.Errorf("min_batch=%g, want no more than max_batch=%g", s.MinBatch, s.MaxBatch)
		}
		c.Scalings[name] = s
	default:
		return "", fmt.Errorf("kind %q, want gavel, memory, synergy or pollux", kind)
	}
	return kind + " " + name, err
}

func read(fields []field, values []string) error {
	if len(values) != len(fields) {
		return fmt.Errorf("%d values, want %d", len(values), len(fields))
	}
	for i, f := range fields {
		name, number, _ := strings.Cut(values[i], "=")
		if name != f.name {
			return fmt.Errorf("value %d is of %q, want %q", i+1, name, f.name)
		}
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || !(x >= f.least && x <= f.max) {
			return fmt.Errorf("%s=%q, want a number from %g to %g", f.name, number, f.least, f.max)
		}
		*f.value = x
	}
	return nil
}

// WriteCoefficients writes c in the format of parseCoefficients, sorted by name, each number with 9 digits. Equal coefficients
// give equal bytes.
func WriteCoefficients(w io.Writer, c *Coefficients) error {
	b := bufio.NewWriter(w)
	put := func(head string, fields []field) {
		b.WriteString(head)
		for _, f := range fields {
			fmt.Fprintf(b, " %s=%.9g", f.name, *f.value) //nolint:errcheck // Flush reports it
		}
		b.WriteByte('\n')
	}
	for _, name := range slices.Sorted(maps.Keys(c.Jobs)) {
		job := c.Jobs[name]
		for g, gpu := range MeasuredGPUs {
			put("gavel "+name+" "+gpu, job.fields(g))
		}
		put("memory "+name, job.memory())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Surfaces)) {
		s := c.Surfaces[name]
		put("synergy "+name, s.fields())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Scalings)) {
		s := c.Scalings[name]
		put("pollux "+name, s.fields())
	}
	return b.Flush()
}
