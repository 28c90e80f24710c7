// Package registry finds things by name: those that come with the program, and those that a main adds.
package registry

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// valid names are what can stand in a list with commas between, before :option=value and +menu, and behind --set key=.
var valid = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// Registry holds things of one kind by name, in the order in which they were added. It is safe for concurrent use.
type Registry[T any] struct {
	kind  string // what errors call a thing, such as "encoder"
	mu    sync.RWMutex
	names []string
	held  map[string]T
}

// New returns an empty registry.
func New[T any](kind string) *Registry[T] { return &Registry[T]{kind: kind, held: map[string]T{}} }

// With adds what comes with the program.
func (r *Registry[T]) With(name string, thing T) *Registry[T] {
	r.Add(name, thing)
	return r
}

// Add adds a thing. A main adds all before anything is asked for, and a name that is taken or may not be one is a mistake in its
// code: it panics.
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

// Get returns the thing of a name.
func (r *Registry[T]) Get(name string) (T, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	thing, known := r.held[name]
	if !known {
		return thing, fmt.Errorf("%s %q is not part of this program, which has %s", r.kind, name, strings.Join(r.names, ", "))
	}
	return thing, nil
}

// All lists the things.
func (r *Registry[T]) All() []T {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make([]T, len(r.names))
	for i, name := range r.names {
		all[i] = r.held[name]
	}
	return all
}

// Names lists the names.
func (r *Registry[T]) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.names)
}
