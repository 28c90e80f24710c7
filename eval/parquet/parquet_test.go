package parquet

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/clustergym/clustergym/eval"
	"github.com/clustergym/clustergym/internal/must"
)

// TestRowsAreThoseOfTheJSON checks that a Parquet reader gets the same values as a reader of the JSON lines.
func TestRowsAreThoseOfTheJSON(t *testing.T) {
	results := []eval.Result{
		{
			Case:    eval.Case{Scenario: "s-v1", Split: "test", Window: "test-0", Policy: "fifo", Seed: math.MaxUint64},
			Metrics: eval.Metrics{Jobs: 3, Finished: 2, MeanJCT: 12.5, Truncated: "horizon 1h"}, JCTPercentiles: []float64{1, 2, 3},
		},
		{Case: eval.Case{Scenario: "s-v1", Window: "test-1", Policy: "srtf", Seed: 2}, Metrics: eval.Metrics{Jobs: 3}},
	}
	var file, again bytes.Buffer
	for _, w := range []*bytes.Buffer{&file, &again} {
		must.Do(t, Write(w, results))
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("equal results gave other bytes")
	}
	r := parquet.NewReader(bytes.NewReader(file.Bytes()))
	defer func() { _ = r.Close() }()
	columns := r.Schema().Columns()
	rows := make([]parquet.Row, 3)
	n, _ := r.ReadRows(rows)
	if n != len(results) {
		t.Fatalf("%d rows, want %d", n, len(results))
	}
	for i := range results {
		text := must.Get(json.Marshal(&results[i]))(t)
		var want map[string]any
		must.Do(t, json.Unmarshal(text, &want))
		got := map[string][]parquet.Value{}
		for _, v := range rows[i] {
			name := columns[v.Column()][0]
			got[name] = append(got[name], v)
		}
		for name, v := range want {
			cell := got[name]
			switch v := v.(type) {
			case string:
				if len(cell) != 1 || string(cell[0].ByteArray()) != v {
					t.Errorf("row %d, %s: %v, want %q", i, name, cell, v)
				}
			case float64:
				if len(cell) != 1 || cell[0].Kind() == parquet.Double && cell[0].Double() != v ||
					cell[0].Kind() == parquet.Int64 && name != "seed" && float64(cell[0].Int64()) != v {
					t.Errorf("row %d, %s: %v, want %v", i, name, cell, v)
				}
			case []any:
				if len(cell) != len(v) || cell[2].Double() != v[2] {
					t.Errorf("row %d, %s: %v, want %v", i, name, cell, v)
				}
			}
		}
		if seed := uint64(got["seed"][0].Int64()); seed != results[i].Seed {
			t.Errorf("row %d: seed %d, want %d", i, seed, results[i].Seed)
		}
	}
	names := slices.Sorted(maps.Keys(map[string]bool{"mean_jct_s": true, "policy": true, "jct_percentiles_s": true}))
	for _, name := range names {
		if !slices.ContainsFunc(columns, func(c []string) bool { return c[0] == name }) {
			t.Errorf("no column %s among %v", name, columns)
		}
	}
}
