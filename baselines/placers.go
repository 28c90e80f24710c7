package baselines

import (
	"github.com/clustergym/clustergym/baselines/option"
	"github.com/clustergym/clustergym/baselines/place"
)

// placer says what a placer is, and makes it.
type placer struct {
	name, about string
	amounts     bool // it may give other amounts than a job asks for
	new         func() place.Placer
}

var placers = []placer{
	{"bestfit", "as few servers as it finds, the fullest that hold the job", false, func() place.Placer { return &place.BestFit{} }},
}

// placer declares the option that chooses one, and returns what makes it.
func (s *settings) placer(byDefault string) func() (p place.Placer, amounts bool) {
	s.orders = true
	name := byDefault
	names := make([]string, len(placers))
	for i := range placers {
		names[i] = placers[i].name
	}
	option.Choice(&s.Set, &name, "place", names, "where jobs start, and with how much", "the field's usual choice")
	return func() (place.Placer, bool) {
		if s.menu != nil {
			return s.menu(), true
		}
		for _, p := range placers {
			if p.name == name {
				return p.new(), p.amounts
			}
		}
		panic("baselines: placer " + name)
	}
}

// parseMenu reads the options of MenuSuffix.
func parseMenu(options string) (func() place.Placer, error) {
	var s option.Set
	if err := s.Parse(options); err != nil {
		return nil, err
	}
	return func() place.Placer { return &place.BestFit{} }, nil
}

// menus describes MenuSuffix.
func menus() Baseline {
	return Baseline{
		MenuSuffix, "behind an order of jobs: amounts and workers from the menu instead of what jobs ask for",
		"The order of jobs stays; the placer chooses for each job what it gets.", "own", "what profiles say of speed",
		func(*settings) maker { return nil },
	}
}
