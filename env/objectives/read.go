package objectives

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Limits of a file.
const (
	mostBytes = 64 << 10
	mostTerms = 64
	mostList  = 64 // names or ranges in one list
	mostTime  = 3650 * 24 * time.Hour
	mostPrice = 1e9
	mostPower = 8
)

// file and termFile are an objective as it is written.
type file struct {
	Name   string     `yaml:"name"`
	About  string     `yaml:"about"`
	Serves string     `yaml:"serves"`
	Unit   string     `yaml:"unit"`
	Terms  []termFile `yaml:"terms"`
}

type termFile struct {
	line     int
	Cost     Cost            `yaml:"cost"`
	Price    *Price          `yaml:"price"`
	Jobs     Jobs            `yaml:"jobs"`
	First    bool            `yaml:"first"`
	Over     span            `yaml:"over"`
	Power    float64         `yaml:"power"`
	Per      string          `yaml:"per"`
	Floor    span            `yaml:"floor"`
	Deadline *deadlineFile   `yaml:"deadline"`
	Miss     float64         `yaml:"miss"`
	Prices   map[int]float64 `yaml:"prices"`
}

type deadlineFile struct {
	RunTimes float64 `yaml:"run_times"`
	Plus     span    `yaml:"plus"`
}

// UnmarshalYAML keeps the line, which errors name.
func (f *termFile) UnmarshalYAML(n *yaml.Node) error {
	type plain termFile
	p := plain{line: n.Line, Power: 1}
	if err := strict(n, &p); err != nil {
		return err
	}
	*f = termFile(p)
	return nil
}

// strict decodes a node and refuses keys that the target does not know, which yaml.Node.Decode accepts.
func strict(n *yaml.Node, into any) error {
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: %s, want keys and values", n.Line, show(n))
	}
	known := keysOf(into)
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: unknown key %q, want one of %s", key.Line, key.Value, strings.Join(known, ", "))
		}
	}
	return n.Decode(into)
}

// Read reads an objective from a YAML file. It reads no more than a file may have, 64 KiB. The error names the line, the value
// and what was expected. Prices by the hour must be in the file itself: see Open for those in files of their own.
func Read(r io.Reader) (*Objective, error) { return read(r, "") }

// read is Read for a file in a folder, "" for text that is in none.
func read(r io.Reader, folder string) (*Objective, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read objective: %w", err)
	}
	if len(text) > mostBytes {
		return nil, fmt.Errorf("objective: more than %d bytes", mostBytes)
	}
	o, err := parse(text, folder)
	if err != nil {
		return nil, fmt.Errorf("objective: %w", err)
	}
	return o, nil
}

func parse(text []byte, folder string) (*Objective, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var doc yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("no text, want the keys name and terms")
		}
		return nil, fmt.Errorf("%w", trimmed(err))
	}
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more than one document, want one")
	}
	if n := aliased(&doc); n != nil {
		return nil, fmt.Errorf("line %d: an alias, want the values themselves", n.Line)
	}
	switch found, err := inline(doc.Content[0], folder); {
	case err != nil:
		return nil, err
	case found:
		if text, err = yaml.Marshal(&doc); err != nil {
			return nil, fmt.Errorf("write the prices into the text: %w", err)
		}
	}
	var f file
	if err := strict(doc.Content[0], &f); err != nil {
		return nil, trimmed(err)
	}
	o, err := f.objective()
	if err == nil {
		o.text = strings.ReplaceAll(string(text), "\r\n", "\n")
	}
	return o, err
}

// trimmed removes what the YAML library puts before its errors.
func trimmed(err error) error {
	text := strings.TrimPrefix(strings.ReplaceAll(err.Error(), "yaml: ", ""), "unmarshal errors:\n  ")
	return fmt.Errorf("%s", strings.ReplaceAll(text, "\n  ", "; "))
}

// aliased returns the first alias of a document, nil if there is none: a few aliases can stand for gigabytes.
func aliased(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n
	}
	for _, c := range n.Content {
		if a := aliased(c); a != nil {
			return a
		}
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`)

func (f *file) objective() (*Objective, error) {
	o := &Objective{Name: f.Name, About: f.About, Serves: f.Serves, Unit: f.Unit}
	switch {
	case !nameForm.MatchString(f.Name):
		return nil, fmt.Errorf("name %q, want a to z, 0 to 9 and dashes, at most 64", f.Name)
	case len(f.Terms) == 0:
		return nil, fmt.Errorf("no terms, want at least one such as {cost: completion, price: 1/h}")
	case len(f.Terms) > mostTerms:
		return nil, fmt.Errorf("%d terms, want at most %d", len(f.Terms), mostTerms)
	case len(f.Unit) > 32 || len(f.About) > 1000 || len(f.Serves) > 2000:
		return nil, fmt.Errorf("unit, about or serves is longer than 32, 1000 and 2000 bytes")
	}
	if o.Unit == "" {
		o.Unit = "cost"
	}
	for i := range f.Terms {
		t, err := f.Terms[i].term()
		if err != nil {
			return nil, fmt.Errorf("line %d: term %d: %w", f.Terms[i].line, i+1, err)
		}
		o.Terms = append(o.Terms, t)
	}
	return o, nil
}

func (f *termFile) term() (Term, error) {
	t := Term{
		Cost: f.Cost, Jobs: f.Jobs, First: f.First, Over: time.Duration(f.Over), Power: f.Power,
		PerRunTime: f.Per != "", Floor: time.Duration(f.Floor), Miss: f.Miss, Prices: f.Prices,
	}
	if f.Price != nil {
		t.Price = *f.Price
	}
	if f.Deadline != nil {
		t.Deadline = Deadline{RunTimes: f.Deadline.RunTimes, Plus: time.Duration(f.Deadline.Plus)}
	}
	return t, f.check(&t)
}

// check returns an error if an option does not belong to the cost, or is out of bounds.
func (f *termFile) check(t *Term) error {
	known := slices.ContainsFunc(costs, func(c costKind) bool { return c.cost == t.Cost })
	if !known {
		return fmt.Errorf("cost %q, want %s", t.Cost, costNames())
	}
	k := t.Cost.kind()
	for _, o := range []struct {
		given bool
		name  string
		fits  bool
		want  string
	}{
		{t.First, "first", t.Cost == Wait, "wait"},
		{t.Over != 0, "over", t.Cost == Completion || t.Cost == Wait, "completion and wait"},
		{t.Power != 1, "power", k == clock, "completion, wait and late"},
		{f.Per != "", "per", k == clock, "completion, wait and late"},
		{t.Floor != 0, "floor", f.Per != "", "costs with per: run_time"},
		{f.Deadline != nil, "deadline", t.Cost == Late, "late"},
		{t.Miss != 0, "miss", t.Cost == Late, "late"},
		{t.Prices != nil, "prices", t.Cost == GPUTime, "gpu_time"},
		{!t.Jobs.all(), "jobs", k != shared, "costs of single jobs, not of the cluster as a whole"},
	} {
		if o.given && !o.fits {
			return fmt.Errorf("%s: option %s is for %s", t.Cost, o.name, o.want)
		}
	}
	if f.Per != "" && f.Per != "run_time" {
		return fmt.Errorf("per %q, want run_time", f.Per)
	}
	if !(t.Power > 0 && t.Power <= mostPower) {
		return fmt.Errorf("power %v, want above 0 to %d", t.Power, mostPower)
	}
	if !(t.Miss >= 0 && t.Miss <= mostPrice) {
		return fmt.Errorf("miss %v, want 0 to %v", t.Miss, float64(mostPrice))
	}
	if !(t.Deadline.RunTimes >= 0 && t.Deadline.RunTimes <= 1e6) {
		return fmt.Errorf("deadline: run_times %v, want 0 to 1e6", t.Deadline.RunTimes)
	}
	if err := f.checkPrices(t.Prices); err != nil {
		return err
	}
	return f.checkPrice(t, k)
}

func (f *termFile) checkPrices(prices map[int]float64) error {
	for hour, price := range prices {
		if hour < 0 || hour > 23 {
			return fmt.Errorf("prices: hour %d, want 0 to 23", hour)
		}
		if !(price >= 0 && price <= mostPrice) {
			return fmt.Errorf("prices: %v from hour %d on, want 0 to %v", price, hour, float64(mostPrice))
		}
	}
	return nil
}

// checkPrice returns an error unless the price has the unit that the cost needs.
func (f *termFile) checkPrice(t *Term, k kind) error {
	timed := k != event && f.Per == ""
	switch {
	case f.Price == nil && t.Cost == Late && t.Miss > 0: // only the miss costs
		t.Price.Per = time.Hour
		return nil
	case f.Price == nil:
		return fmt.Errorf("%s: no price, want one such as %s", t.Cost, examplePrice(timed))
	case timed != (t.Price.Per > 0):
		return fmt.Errorf("%s: price %v, want one such as %s", t.Cost, t.Price, examplePrice(timed))
	case !(t.Price.Amount > 0 && t.Price.Amount <= mostPrice):
		return fmt.Errorf("%s: price %v, want above 0 to %v", t.Cost, t.Price, float64(mostPrice))
	}
	return nil
}

func examplePrice(timed bool) string {
	if timed {
		return "1/h or 0.5/min"
	}
	return "30"
}

func costNames() string {
	names := make([]string, len(costs))
	for i := range costs {
		names[i] = string(costs[i].cost)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// finite reports whether x is a number that can be computed with.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
