package pins

import (
	"fmt"
	"io/fs"
	"os"
	"testing"

	"github.com/clustergym/clustergym/agents"
	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/checkpoints/released"
	"github.com/clustergym/clustergym/internal/must"
)

// bundles returns the pins of the released policy's files: as the program contains them, and as it would export them now.
func bundles() []group {
	return []group{
		bundle("embedded", func(*testing.T) fs.FS { return released.FS() }),
		bundle("exported", func(t *testing.T) fs.FS {
			p, m, err := agents.LoadFS(released.FS())
			must.Do(t, err)
			dir := t.TempDir()
			must.Do(t, export.Save(dir, p, m.Created, m.Training, nil))
			return os.DirFS(dir)
		}),
	}
}

func bundle(window string, open func(*testing.T) fs.FS) group {
	g := group{name: window}
	for _, file := range [][2]string{
		{"manifest", "manifest.json"}, {"weights", "weights.safetensors"}, {"onnx", "policy.onnx"}, {"card", "README.md"},
	} {
		g.pins = append(g.pins, pin{what: file[0], window: window, policy: released.Name, short: true,
			make: func(t *testing.T) ([]byte, string) {
				text := must.Get(fs.ReadFile(open(t), file[1]))(t)
				return text, fmt.Sprintf("%d bytes", len(text))
			}})
	}
	return g
}
