// Package registry contains tables of named things, such as encoders: those of the program and those that a main function adds.
package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// valid matches the names that can occur in a comma-separated list, before :option=value and +menu, and after --set key=.
var valid = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// Registry contains things of one kind by name, in the order in which they were added. It is safe for concurrent use.
type Registry[T any] struct {
	kind  string // the kind's name in errors, such as "encoder"
	mu    sync.RWMutex
	names []string
	held  map[string]T
}

// New returns an empty registry.
func New[T any](kind string) *Registry[T] { return &Registry[T]{kind: kind, held: map[string]T{}} }

// With adds a thing of the program itself and returns the registry.
func (r *Registry[T]) With(name string, thing T) *Registry[T] {
	r.Add(name, thing)
	return r
}

// Add adds a thing. A main function must add all things before the first Get. Add panics if the name is invalid or taken, because
// that is an error in the program.
func (r *Registry[T]) Add(name string, thing T) {
	if !valid.MatchString(name) {
		panic(fmt.Sprintf("%s %q: want a name of lower-case letters, digits, ., - and _, the first no sign", r.kind, name))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, taken := r.held[name]; taken {
		panic(fmt.Sprintf("%s %q: the program already has one of that name", r.kind, name))
	}
	r.held[name] = thing
	r.names = append(r.names, name)
}

// Get returns the thing with the given name, or an error that lists the names.
func (r *Registry[T]) Get(name string) (T, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	thing, known := r.held[name]
	if !known {
		return thing, fmt.Errorf("%s %q is not part of this program, which has %s", r.kind, name, strings.Join(r.names, ", "))
	}
	return thing, nil
}

// Names returns the names in the order in which they were added.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.names)
}
