// Package floors checks which package imports which. It holds the house rule that a package imports only lower floors, and
// keeps Gorgonia out of everything that runs in production. It reads package lists; it does not load code.
package floors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Package is what `go list -json` says of one package.
type Package struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string // transitive closure of Imports
}

// Rules is a house: its module, its floors, and where foreign modules may be used.
type Rules struct {
	Module string
	Floors []Floor
	Fences []Fence
}

// Floor puts a family, a package and all below it that has no floor of its own, on a level. A package may import packages of
// lower levels and of its own family.
type Floor struct {
	Level  float64
	Family string // relative to the module, for example "env/sim"
}

// Fence confines a foreign module.
type Fence struct {
	Module  string   // import path prefix, for example "gorgonia.org"
	Direct  []string // families that may import it
	Through []string // families that may depend on it through those
}

// Check returns all violations, sorted. Imports of test files are free of the floors but not of the fences.
func (r Rules) Check(packages []Package) []string {
	var found []string
	byPath := map[string]Package{}
	for _, p := range packages {
		byPath[p.ImportPath] = p
	}
	for _, p := range packages {
		name, ok := r.own(p.ImportPath)
		if !ok {
			continue
		}
		found = append(found, r.checkFloors(p, name)...)
		for _, fence := range r.Fences {
			found = append(found, r.checkFence(p, name, fence, byPath)...)
		}
	}
	slices.Sort(found)
	return found
}

func (r Rules) checkFloors(p Package, name string) []string {
	from, ok := r.floor(name)
	if !ok {
		return []string{fmt.Sprintf("%s has no floor", name)}
	}
	var found []string
	for _, path := range p.Imports {
		target, ok := r.own(path)
		if !ok {
			continue
		}
		to, ok := r.floor(target)
		if !ok || to.Family == from.Family || to.Level < from.Level {
			continue // a target without a floor is reported once, as itself
		}
		found = append(found, fmt.Sprintf("%s (floor %g) imports %s (floor %g)", name, from.Level, target, to.Level))
	}
	return found
}

func (r Rules) checkFence(p Package, name string, fence Fence, byPath map[string]Package) []string {
	var found []string
	if !inFamilies(name, fence.Direct) {
		for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			if within(path, fence.Module) {
				found = append(found, fmt.Sprintf("%s imports %s", name, path))
			}
		}
	}
	if inFamilies(name, slices.Concat(fence.Direct, fence.Through)) {
		return found
	}
	for _, path := range p.Deps {
		if own, ok := r.own(path); ok && dependsOn(byPath[path], fence.Module) {
			found = append(found, fmt.Sprintf("%s depends on %s through %s", name, fence.Module, own))
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		q := byPath[path]
		own, ok := r.own(path)
		if ok && path != p.ImportPath && slices.ContainsFunc(q.Deps, func(dep string) bool { return within(dep, fence.Module) }) {
			found = append(found, fmt.Sprintf("tests of %s depend on %s through %s", name, fence.Module, own))
		}
	}
	return found
}

// dependsOn reports whether p itself imports the fenced module, so that a chain is reported at its far end.
func dependsOn(p Package, module string) bool {
	return slices.ContainsFunc(p.Imports, func(path string) bool { return within(path, module) })
}

// own returns a package's name relative to the module, and whether it belongs to it.
func (r Rules) own(path string) (string, bool) {
	if path == r.Module {
		return ".", true
	}
	return strings.CutPrefix(path, r.Module+"/")
}

// floor returns the floor of the longest family that holds name.
func (r Rules) floor(name string) (Floor, bool) {
	holds := slices.DeleteFunc(slices.Clone(r.Floors), func(f Floor) bool { return !within(name, f.Family) })
	if len(holds) == 0 {
		return Floor{}, false
	}
	return slices.MaxFunc(holds, func(a, b Floor) int { return cmp.Compare(len(a.Family), len(b.Family)) }), true
}

func inFamilies(name string, families []string) bool {
	return slices.ContainsFunc(families, func(family string) bool { return within(name, family) })
}

// within reports whether path is prefix or lies below it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
