package fit

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/clustergym/clustergym/env/physics/profile"
)

// maxGavel is the largest accepted size of Gavel's unpacked throughputs, which take 1.2 MB.
const maxGavel = 16 << 20

// gavel contains Gavel's measurements of single-GPU jobs on one GPU type.
type gavel struct {
	Jobs []string  // by their names in the catalogue, in its order
	Rate []float64 // [job] iterations per second alone
	// Speed is [job][partner]: the job's speed beside the partner relative to its speed alone; 0 if the two do not fit together,
	// and NaN if they were not measured.
	Speed [][]float64
}

// gavelKey is a key of Gavel's file, a Python tuple such as ('LM (batch size 80)', 4).
type gavelKey struct {
	job     string // its name in the catalogue, such as lm-80
	workers int
}

// parseGavelKey reads a key of Gavel's file.
func parseGavelKey(key string) (gavelKey, error) {
	const want = `want "('MODEL (batch size N)', WORKERS)"`
	inner, ok := strings.CutPrefix(key, "('")
	inner, closed := strings.CutSuffix(inner, ")")
	job, workers, split := strings.Cut(inner, "', ")
	if !ok || !closed || !split {
		return gavelKey{}, fmt.Errorf("key %q: %s", key, want)
	}
	n, err := strconv.Atoi(workers)
	if err != nil || n < 1 || n > 1<<20 {
		return gavelKey{}, fmt.Errorf("key %q: %q workers: %s", key, workers, want)
	}
	model, batch, sized := strings.Cut(job, " (batch size ")
	name := strings.ToLower(strings.ReplaceAll(model, "ResNet-", "ResNet"))
	if sized {
		size, ok := strings.CutSuffix(batch, ")")
		b, err := strconv.Atoi(size)
		if !ok || err != nil || b < 1 || strconv.Itoa(b) != size {
			return gavelKey{}, fmt.Errorf("key %q: batch size %q: %s", key, batch, want)
		}
		name += "-" + size
	}
	if name == "" || strings.ContainsAny(name, " \t\n'\"()#") {
		return gavelKey{}, fmt.Errorf("key %q: model %q: %s", key, model, want)
	}
	return gavelKey{name, n}, nil
}

// readGavel reads the uncompressed JSON of Gavel's throughputs and returns the part of one GPU type, named as in the file. It
// uses only the keys of one worker. Errors contain the key and the value.
func readGavel(r io.Reader, gpuType string) (*gavel, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxGavel+1))
	if err != nil {
		return nil, fmt.Errorf("read Gavel's throughputs: %w", err)
	}
	if len(data) > maxGavel {
		return nil, fmt.Errorf("read Gavel's throughputs: more than %d bytes", maxGavel)
	}
	var all map[string]map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("read Gavel's throughputs: %w, want {GPU type: {job: {partner: rates}}}", err)
	}
	rows, ok := all[gpuType]
	if !ok {
		return nil, fmt.Errorf("read Gavel's throughputs: no GPU type %q, have %q", gpuType, slices.Sorted(maps.Keys(all)))
	}
	g, err := gavelOf(rows)
	if err != nil {
		return nil, fmt.Errorf("read Gavel's throughputs: %s: %w", gpuType, err)
	}
	return g, nil
}

func gavelOf(rows map[string]map[string]json.RawMessage) (*gavel, error) {
	byJob := map[string]map[string]json.RawMessage{}
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		k, err := parseGavelKey(key)
		if err != nil {
			return nil, err
		}
		if k.workers != 1 {
			continue
		}
		if byJob[k.job] != nil {
			return nil, fmt.Errorf("key %q: job %s twice, want it once", key, k.job)
		}
		byJob[k.job] = rows[key]
	}
	g := &gavel{Jobs: inOrder(byJob)}
	if len(g.Jobs) == 0 {
		return nil, errors.New("no job with one worker")
	}
	for _, job := range g.Jobs {
		rate, err := rates(byJob[job]["null"], 1)
		if err != nil || rate[0] == 0 {
			return nil, fmt.Errorf("job %s: alone %q, want a rate above 0", job, byJob[job]["null"])
		}
		g.Rate = append(g.Rate, rate[0])
	}
	for i, job := range g.Jobs {
		row, err := g.row(byJob[job], g.Rate[i])
		if err != nil {
			return nil, fmt.Errorf("job %s: %w", job, err)
		}
		g.Speed = append(g.Speed, row)
	}
	return g, nil
}

// row returns the speeds of a job beside each partner.
func (g *gavel) row(pairs map[string]json.RawMessage, alone float64) ([]float64, error) {
	row := make([]float64, len(g.Jobs))
	for i := range row {
		row[i] = notMeasured
	}
	for _, key := range slices.Sorted(maps.Keys(pairs)) {
		if key == "null" {
			continue
		}
		k, err := parseGavelKey(key)
		if err != nil {
			return nil, err
		}
		i := slices.Index(g.Jobs, k.job)
		if k.workers != 1 || i < 0 {
			return nil, fmt.Errorf("partner %q, want a job with one worker that is measured alone", key)
		}
		pair, err := rates(pairs[key], 2)
		if err != nil {
			return nil, fmt.Errorf("partner %q: %w", key, err)
		}
		row[i] = pair[0] / alone
		if pair[0] == 0 || pair[1] == 0 {
			row[i] = 0
		}
	}
	return row, nil
}

// rates reads one number, or a list of n numbers, from 0 to 1e9.
func rates(raw json.RawMessage, n int) ([]float64, error) {
	got := make([]float64, 1, 2)
	var err error
	if n == 1 {
		err = json.Unmarshal(raw, &got[0])
	} else {
		err = json.Unmarshal(raw, &got)
	}
	ok := err == nil && len(got) == n
	for _, x := range got {
		ok = ok && x >= 0 && x <= 1e9
	}
	if !ok || string(raw) == "null" {
		return nil, fmt.Errorf("rates %.60q, want %d from 0 to 1e9", raw, n)
	}
	return got, nil
}

// inOrder returns the names of the jobs: first those in the catalogue, in its order, then the others, sorted.
func inOrder(jobs map[string]map[string]json.RawMessage) []string {
	var names []string
	known := profile.GavelJobs()
	for _, name := range known {
		if jobs[name] != nil {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(jobs)) {
		if !slices.Contains(known, name) {
			names = append(names, name)
		}
	}
	return names
}

// openGavel reads the measurements of all GPU types, in the order of profile.MeasuredGPUs, from a folder of profiles.
func openGavel(dir string) ([len(profile.MeasuredGPUs)]*gavel, error) {
	var all [len(profile.MeasuredGPUs)]*gavel
	path := filepath.Join(dir, "gavel", "simulation_throughputs.json.gz")
	for i, gpu := range profile.MeasuredGPUs {
		g, err := openGavelOf(path, strings.ToLower(gpu))
		if err != nil {
			return all, fmt.Errorf("%s: %w", path, err)
		}
		if i > 0 && !slices.Equal(g.Jobs, all[0].Jobs) {
			return all, fmt.Errorf("%s: jobs %v on %s, want those on %s: %v", path, g.Jobs, gpu, profile.MeasuredGPUs[0], all[0].Jobs)
		}
		all[i] = g
	}
	return all, nil
}

func openGavelOf(path, gpuType string) (*gavel, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return readGavel(unpacked, gpuType)
}
