package baselines

import (
	"slices"
	"strings"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/registry"
)

// Table contains the baselines that a program knows by name. It never changes. The zero Table has those of this package; that of
// package baselines/all has those that a program in production need not link, too.
type Table struct{ more []Baseline }

// With returns a table with more baselines. Their names can be used wherever a baseline's can: as a policy, with suffixes, as a
// prior (the base policy that a learned team reviews) and as a rival. With panics if a name is invalid or taken.
func (t Table) With(more ...Baseline) Table {
	t.more = slices.Concat(t.more, more)
	taken := registry.New[bool]("policy").With("prior", true).With("released", true) // policies that are no baselines
	for _, name := range t.Names() {
		taken.Add(name, true)
	}
	return t
}

// All returns the baselines in the order of tables. Those that With added come last.
func (t Table) All() []Baseline {
	return slices.Concat(orders(), []Baseline{indexed()}, scored(), field(), elastics(), t.more)
}

// Names returns the names of the baselines in the order of All.
func (t Table) Names() []string {
	var names []string
	for _, b := range t.All() {
		names = append(names, b.Name)
	}
	return names
}

// Find returns the baseline of that name, which must contain no options, or the description of a suffix.
func (t Table) Find(name string) (b Baseline, ok bool) {
	for _, b := range append(t.All(), movers(), borrowers(), knowers(), menuers()) {
		if b.Name == name {
			return b, true
		}
	}
	return b, false
}

// Known reports whether the name begins with that of a baseline, of this table or of package baselines/all, or with one that is
// gone. The error of Parse then says what is wrong with the name.
func (t Table) Known(name string) bool {
	name = headOf(name)
	_, missing := missing[name]
	_, ok := t.Find(name)
	return ok || missing
}

// headOf returns what comes before the options and suffixes of a name.
func headOf(name string) string { return name[:strings.IndexAny(name+":", ":+")] }

// New returns a fresh scheduler by its name, see Spec, for example "sjfskip", "srtf+menu" or
// "lyra:pause=1m+loan:reclaim=scf". The name must need nothing of Given.
func (t Table) New(name string) (cluster.Scheduler, error) {
	s, err := t.Parse(name)
	if err != nil {
		return nil, err
	}
	return s.New(Given{})
}

// New is Table.New for the baselines of this package.
func New(name string) (cluster.Scheduler, error) { return Table{}.New(name) }
