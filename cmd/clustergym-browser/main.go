//go:build js && wasm

// Command clustergym-browser is the simulator for a page in a browser. It defines the function clustergymSimulate, which takes a
// request as JSON and returns an object with the answer as JSON or with an error: see package eval/browser.
package main

import (
	"syscall/js"

	"github.com/clustergym/clustergym/eval/browser"
)

func main() {
	js.Global().Set("clustergymSimulate", js.FuncOf(func(_ js.Value, args []js.Value) any {
		if len(args) != 1 || args[0].Type() != js.TypeString {
			return map[string]any{"error": "want one request as JSON"}
		}
		answer, err := browser.JSON(args[0].String())
		if err != nil {
			return map[string]any{"error": err.Error()}
		}
		return map[string]any{"answer": answer}
	}))
	var names []any
	for _, name := range browser.Policies() {
		names = append(names, name)
	}
	js.Global().Set("clustergymPolicies", js.ValueOf(names))
	select {} // the page calls the function as long as it is open
}
