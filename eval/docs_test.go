package eval

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

// TestDocsListTheQuantities checks that the page lists every quantity as the code defines it. With -update it rewrites the table.
func TestDocsListTheQuantities(t *testing.T) {
	const path = "../docs/evaluation.md"
	const head = "| key | in tables | unit | better | what it is |\n|---|---|---|---|---|\n"
	table := head
	for _, q := range Quantities() {
		better := "lower"
		if q.Higher {
			better = "higher"
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s | %s |\n", q.Key, q.Label, q.Unit, better, q.About)
	}
	text := must.Get(os.ReadFile(path))(t)
	page := string(text)
	if strings.Contains(page, table) {
		return
	}
	from := strings.Index(page, head)
	if !*update || from < 0 {
		t.Fatalf("%s lacks\n%s", path, table)
	}
	to := from + strings.Index(page[from:], "\n\n") + 1
	must.Do(t, os.WriteFile(path, []byte(page[:from]+table+page[to:]), 0o666))
}
