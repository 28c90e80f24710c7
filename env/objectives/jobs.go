package objectives

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/clustergym/clustergym/env/cluster"
)

// Jobs selects jobs. A job is selected if each field that is given holds for it; in a list one entry has to hold. The zero value
// selects all jobs.
type Jobs struct {
	GPUs     []Range  // GPUs that the job asks for; a share counts as a fraction
	Priority []Range  // as the trace has it, 0 without
	RunTime  []Range  // in seconds, alone and as asked for: the true one in evaluations, the believed one in decisions
	Tenants  []string // by name, as the trace has it
	Users    []string
	Groups   []string // of recurring jobs
	Models   []string // as far as they are known
	Elastic  *bool    // whether its number of workers may change
}

// jobsFile is a selection as it is written.
type jobsFile struct {
	GPUs     numbers `yaml:"gpus"`
	Priority numbers `yaml:"priority"`
	RunTime  spans   `yaml:"run_time"`
	Tenants  names   `yaml:"tenants"`
	Users    names   `yaml:"users"`
	Groups   names   `yaml:"groups"`
	Models   names   `yaml:"models"`
	Elastic  *bool   `yaml:"elastic"`
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (j *Jobs) UnmarshalYAML(n *yaml.Node) error {
	var f jobsFile
	if err := strict(n, &f); err != nil {
		return err
	}
	*j = Jobs{
		GPUs: f.GPUs, Priority: f.Priority, RunTime: f.RunTime,
		Tenants: f.Tenants, Users: f.Users, Groups: f.Groups, Models: f.Models, Elastic: f.Elastic,
	}
	return nil
}

type (
	numbers []Range
	spans   []Range
	names   []string
)

// UnmarshalYAML implements yaml.Unmarshaler.
func (r *numbers) UnmarshalYAML(n *yaml.Node) error {
	return ranges((*[]Range)(r), n, "a number or a range such as 4, 1-4 or 8-", func(text string) (float64, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && finite(x)
	})
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (r *spans) UnmarshalYAML(n *yaml.Node) error {
	return ranges((*[]Range)(r), n, "a range of times such as -1h, 10m-2h or 1d-", func(text string) (float64, bool) {
		d, ok := duration(text)
		return d.Seconds(), ok
	})
}

// UnmarshalYAML implements yaml.Unmarshaler.
func (r *names) UnmarshalYAML(n *yaml.Node) error {
	list, err := scalars(n, "a name or a list of names")
	for _, s := range list {
		if s.Value == "" || len(s.Value) > 256 {
			return wrong(s, "a name of at most 256 bytes")
		}
		*r = append(*r, s.Value)
	}
	return err
}

func ranges(into *[]Range, n *yaml.Node, want string, parse func(string) (float64, bool)) error {
	list, err := scalars(n, want)
	for _, s := range list {
		r, ok := bounds(s.Value, parse)
		if !ok {
			return wrong(s, want)
		}
		*into = append(*into, r)
	}
	return err
}

// scalars returns the values of a list, or the one value that stands for a list of one.
func scalars(n *yaml.Node, want string) ([]*yaml.Node, error) {
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag != "!!null":
		return []*yaml.Node{n}, nil
	case n.Kind != yaml.SequenceNode || len(n.Content) == 0:
		return nil, wrong(n, want)
	case len(n.Content) > mostList:
		return nil, fmt.Errorf("line %d: a list of %d, want at most %d", n.Line, len(n.Content), mostList)
	}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode {
			return nil, wrong(c, want)
		}
	}
	return n.Content, nil
}

// all reports whether the selection selects every job.
func (j *Jobs) all() bool {
	given := len(j.GPUs) + len(j.Priority) + len(j.RunTime) + len(j.Tenants) + len(j.Users) + len(j.Groups) + len(j.Models)
	return given == 0 && j.Elastic == nil
}

// Match reports whether the selection selects a job that runs for the given time alone and as it asks for.
func (j *Jobs) Match(spec *cluster.JobSpec, runTime time.Duration) bool {
	return within(j.GPUs, spec.GPUs()) && within(j.Priority, float64(spec.Priority)) && within(j.RunTime, runTime.Seconds()) &&
		among(j.Tenants, spec.Tenant) && among(j.Users, spec.User) && among(j.Groups, spec.Group) &&
		among(j.Models, spec.Model) && (j.Elastic == nil || *j.Elastic == (spec.Least() != spec.Most()))
}

func within(list []Range, x float64) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(r Range) bool { return cmp.Compare(r.From, x) <= 0 && x <= r.To })
}

func among(list []string, name string) bool { return len(list) == 0 || slices.Contains(list, name) }
