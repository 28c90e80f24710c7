package observe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// StandardName is the name of the encoder that comes with the program.
const StandardName = "standard"

var (
	registered = map[string]func(window int) Encoder{
		StandardName: func(window int) Encoder { return &Standard{Window: window} },
	}
	registering sync.RWMutex
)

// Register adds an encoder by a name that policies, bundles and the command line know it by, before anything uses it, as in the
// first lines of main. create makes a fresh encoder that shows a window of so many jobs beside those that candidates are about.
// A policy that was trained with it is refused by a program in which it is not registered. A name that is taken panics.
func Register(name string, create func(window int) Encoder) {
	registering.Lock()
	defer registering.Unlock()
	if _, taken := registered[name]; taken || name == "" || create == nil {
		panic(fmt.Sprintf("observe: register encoder %q: want a new name and a function", name))
	}
	registered[name] = create
}

// Named returns a fresh encoder by its name; the empty name is the standard one's.
func Named(name string, window int) (Encoder, error) {
	registering.RLock()
	defer registering.RUnlock()
	if name == "" {
		name = StandardName
	}
	create, known := registered[name]
	if !known {
		return nil, fmt.Errorf("encoder %q is not part of this program, which has %s", name,
			strings.Join(slices.Sorted(maps.Keys(registered)), ", "))
	}
	return create(window), nil
}
