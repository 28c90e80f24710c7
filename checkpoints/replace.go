package checkpoints

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// cardMark is the first line of every model card. By this line replaceable distinguishes a model card, which WriteBundle may
// replace, from a README.md that somebody wrote.
const cardMark = "<!-- The model card of a policy. clustergym export wrote it, and replaces it with the policy. -->\n"

// replaceable returns an error unless the path is free or contains nothing but a bundle.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case e.Name() == manifestName, e.Name() == signatureName, e.Name() == weightsName, e.Name() == modelName:
		case e.Name() == cardName && isCard(filepath.Join(dir, cardName)):
		default:
			return fmt.Errorf("the folder holds %s, which is no part of a policy and would be lost", e.Name())
		}
	}
	return nil
}

// isCard reports whether the file is a model card.
func isCard(path string) bool {
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	first := make([]byte, len(cardMark))
	_, err = io.ReadFull(f, first)
	return err == nil && string(first) == cardMark
}
