package eval

import (
	"encoding/json"
	"fmt"
	"io"
)

// WriteJSON writes comparisons and the results beneath them as one JSON object.
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

// WriteJSONL writes one JSON object a result, a line each.
func WriteJSONL(w io.Writer, results []Result) error {
	e := json.NewEncoder(w)
	for i := range results {
		if err := e.Encode(&results[i]); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	return nil
}
