package observe

import (
	"cmp"

	"github.com/clustergym/clustergym/internal/registry"
)

// StandardName is the name of the encoder that comes with the program.
const StandardName = "standard"

var encoders = registry.New[func(window int) Encoder]("encoder").
	With(StandardName, func(window int) Encoder { return &Standard{Window: window} })

// Register adds an encoder by a name that policies, bundles and the command line know it by, before anything uses it, as in the
// first lines of main. create makes a fresh encoder that shows a window of so many jobs beside those that candidates are about.
// A policy that was trained with it is refused by a program in which it is not registered. A name that is taken panics.
func Register(name string, create func(window int) Encoder) { encoders.Add(name, create) }

// Named returns a fresh encoder by its name; the empty name is the standard one's.
func Named(name string, window int) (Encoder, error) {
	create, err := encoders.Get(cmp.Or(name, StandardName))
	if err != nil {
		return nil, err
	}
	return create(window), nil
}

// Names lists the encoders.
func Names() []string { return encoders.Names() }
