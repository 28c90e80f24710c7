package checkpoints

import (
	"errors"
	"fmt"

	"github.com/clustergym/clustergym/internal/strictjson"
)

// headerEntry is a tensor's entry in the header.
type headerEntry struct {
	DType   string  `json:"dtype" header:"dtype,need,word"`
	Shape   []int   `json:"shape" header:"shape,need,most=dimensions"`
	Offsets []int64 `json:"data_offsets" header:"data_offsets,need,most=offsets"`
}

// Check implements strictjson.Checked.
func (e *headerEntry) Check(r *strictjson.Reader, _ uint32) {
	if n := len(e.Offsets); n != 2 {
		r.Bad("data_offsets", fmt.Sprintf("%d numbers", n), "2")
	}
}

// entry is a named header entry.
type entry struct {
	name string
	headerEntry
}

// headers is the format of entries. It forbids what encoding/json accepts: keys twice, in another case or unknown.
var headers = strictjson.Format{
	Key: "header", Limits: map[string]int64{"dimensions": 32, "offsets": 2},
	Kinds: map[string]strictjson.Kind{"word": strictjson.Texts(256, func(string) bool { return true }, "an element type")},
}

// parseHeader returns the entries in file order. It does not check the offsets.
func parseHeader(header []byte, most int) (entries []entry, metadata map[string]string, err error) {
	if len(header) == 0 || header[0] != '{' {
		return nil, nil, errors.New("does not begin with {")
	}
	r := headers.New(header, nil)
	once := func(seen map[string]bool, name string) {
		if seen[name] {
			r.Fail(fmt.Errorf("key %q stands twice", name))
		}
		seen[name] = true
	}
	names := map[string]bool{}
	r.Map(most+2, func(name string) { // one more for the metadata, and one for the error below
		once(names, name)
		if name == metadataKey {
			metadata = map[string]string{}
			keys := map[string]bool{}
			r.Map(len(header), func(key string) {
				once(keys, key)
				text, ok := r.String(len(header))
				if metadata[key] = text; !ok {
					r.Refuse("text")
				}
			})
			return
		}
		if len(entries) == most {
			r.Fail(fmt.Errorf("more than %d tensors: %w", most, errTooBig))
		}
		e := entry{name: name}
		r.Struct(&e.headerEntry)
		entries = append(entries, e)
	})
	r.End()
	return entries, metadata, r.Err()
}
