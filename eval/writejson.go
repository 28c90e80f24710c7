package eval

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes one JSON object with two keys: comparisons and results.
func WriteJSON(w io.Writer, comparisons []Comparison, results []Result) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	if err := e.Encode(struct {
		Comparisons []Comparison `json:"comparisons"`
		Results     []Result     `json:"results"`
	}{comparisons, results}); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}

// WriteJSONL writes each result as a line of JSON.
func WriteJSONL(w io.Writer, results []Result) error {
	e := json.NewEncoder(w)
	for i := range results {
		if err := e.Encode(&results[i]); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}
