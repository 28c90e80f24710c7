package floors

import (
	"fmt"
	"slices"
	"strings"
)

// listed contains the fields of a package in the output of `go list -json`.
type listed struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string // transitive closure of Imports
}

// check returns all violations, sorted. The floors do not apply to imports of test files, but the fences do.
func (r rules) check(packages []listed) []string {
	var found []string
	byPath := map[string]listed{}
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
	found = append(found, r.checkRooms(byPath)...)
	slices.Sort(found)
	return found
}

func (r rules) checkFloors(p listed, name string) []string {
	from, ok := r.floor(name)
	if !ok {
		return []string{fmt.Sprintf("%s has no floor", name)}
	}
	var found []string
	for _, imported := range p.Imports {
		target, _ := r.own(imported)
		to, ok := r.floor(target) // a target without a floor is reported once, on its own
		switch {
		case ok && to > from:
			found = append(found, fmt.Sprintf("%s (floor %d) imports %s (floor %d)", name, from, target, to))
		case ok && to == from && r.at(target) > r.at(name):
			found = append(found, fmt.Sprintf("%s imports %s, which stands after it on floor %d", name, target, from))
		}
	}
	return found
}

// checkRooms reports entries without a package, packages with two entries, and entries that are not sorted by floor.
func (r rules) checkRooms(there map[string]listed) []string {
	var found []string
	for i, room := range r.Rooms {
		if _, ok := there[r.Module+"/"+room.Package]; !ok {
			found = append(found, fmt.Sprintf("%s has a floor and is no package", room.Package))
		}
		if slices.ContainsFunc(r.Rooms[:i], func(other entry) bool { return other.Package == room.Package }) {
			found = append(found, fmt.Sprintf("%s has two floors", room.Package))
		}
		if i > 0 && room.Floor < r.Rooms[i-1].Floor {
			found = append(found, fmt.Sprintf("%s (floor %d) stands after %s (floor %d)", room.Package, room.Floor,
				r.Rooms[i-1].Package, r.Rooms[i-1].Floor))
		}
	}
	return found
}

func (r rules) checkFence(p listed, name string, fence fence, byPath map[string]listed) []string {
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

// dependsOn reports whether p itself imports the fenced module, so that a chain of imports is reported at its last package.
func dependsOn(p listed, module string) bool {
	return slices.ContainsFunc(p.Imports, func(path string) bool { return within(path, module) })
}

// own returns a package's name relative to the module, and whether the package belongs to the module.
func (r rules) own(path string) (string, bool) {
	if path == r.Module {
		return ".", true
	}
	return strings.CutPrefix(path, r.Module+"/")
}

// floor returns the floor of a package.
func (r rules) floor(name string) (int, bool) {
	i := r.at(name)
	if i < 0 {
		return 0, false
	}
	return r.Rooms[i].Floor, true
}

// at returns the place of a package in the list, -1 if it has none.
func (r rules) at(name string) int {
	return slices.IndexFunc(r.Rooms, func(v entry) bool { return v.Package == name })
}

func inFamilies(name string, families []string) bool {
	return slices.ContainsFunc(families, func(family string) bool { return within(name, family) })
}

// within reports whether path equals prefix or is below it.
func within(path, prefix string) bool {
	return path == prefix || strings.HasPrefix(path, prefix+"/")
}
