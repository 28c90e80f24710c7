package observe

import (
	"cmp"

	"github.com/clustergym/clustergym/internal/registry"
)

// StandardName is the name of the built-in encoder.
const StandardName = "standard"

// UncertainName is the name of the standard encoder with Standard.Uncertainty. Behind the features of the standard encoder it has
// others, which say how uncertain what belief.Learner and belief.Speeds predict is. What the driver tells counts as certain.
const UncertainName = "uncertain"

var encoders = registry.New[func(window int) Encoder]("encoder").
	With(StandardName, func(window int) Encoder { return &Standard{Window: window} }).
	With(UncertainName, func(window int) Encoder { return &Standard{Window: window, Uncertainty: true} })

// Register adds an encoder under a name, which policies, bundles and the command line use for it. Call it before anything uses
// encoders, for example in the first lines of main. create returns a fresh encoder whose window has the given number of jobs. A
// program in which an encoder is not registered refuses policies that were trained with it. Register panics if the name is taken.
func Register(name string, create func(window int) Encoder) { encoders.Add(name, create) }

// Named returns a fresh encoder by its name. The empty name stands for StandardName.
func Named(name string, window int) (Encoder, error) {
	create, err := encoders.Get(cmp.Or(name, StandardName))
	if err != nil {
		return nil, err
	}
	return create(window), nil
}

// Names returns the names of all encoders.
func Names() []string { return encoders.Names() }
