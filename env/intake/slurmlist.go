package intake

import (
	"fmt"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// listed returns the elements of the list with the given name. The text is an object with the list, or several of them one after
// the other, or the list itself; a single element may stand in place of a list. It calls the function also with the index in
// others of each of these fields that an object has; also must read the field.
func listed(r *strictjson.Reader, name string, others []string, also func(i int)) (all []element) {
	const mostValues = 1 << 10
	fields := append([]string{name}, others...)
	found := false
	take := func() {
		found = true
		if r.IsList() {
			r.List(mostObjects, func(i int) { all = append(all, element{fmt.Sprintf("%s[%d]", name, i), r.Skip()}) })
			return
		}
		at := r.Skip()
		if text, _ := r.At(at); len(text) == 0 || text[0] != '{' {
			r.Refuse("a list")
		}
		all = append(all, element{name, at})
	}
	for _, value := range r.Values(mostValues) {
		if r.Return("", value); r.IsList() {
			take()
			continue
		}
		r.Fields(fields, 0, func(field int) {
			if field == 0 {
				take()
			} else {
				also(field - 1)
			}
		})
	}
	if !found {
		r.Bad(name, "missing", "a list")
	}
	return all
}
