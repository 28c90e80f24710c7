package demand

import (
	"bytes"
	_ "embed" // the released weights

	"github.com/clustergym/clustergym/env/inference"
)

//go:embed released/lstm-v1.safetensors
var released []byte

// Released returns the weights that come with the program. released/README.md says what they were trained on.
func Released() *inference.LSTM {
	n, err := inference.ReadLSTM(bytes.NewReader(released))
	if err != nil {
		panic("demand: released weights: " + err.Error())
	}
	return n
}
