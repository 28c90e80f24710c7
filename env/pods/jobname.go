package pods

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/clustergym/clustergym/internal/names"
)

// JobName returns the name of a gang's job: its title. A name too long for a snapshot is cut and ends in a digest. The parameter
// kind distinguishes gangs with the same title, and is "" for the first of them.
func JobName(title, kind string) string {
	full := title
	if kind != "" {
		full += " (" + kind + ")"
	}
	if len(full) <= names.Longest {
		return full
	}
	digest := sha256.Sum256([]byte(full))
	return strings.ToValidUTF8(full[:names.Longest-17], "") + "~" + hex.EncodeToString(digest[:8])
}
