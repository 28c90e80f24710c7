package demand

import (
	"bytes"
	_ "embed" // the released weights
)

//go:embed released/lstm-v1.safetensors
var released []byte

// Released returns the weights that come with the program. released/README.md says what they were trained on.
func Released() *LSTM {
	n, err := ReadLSTM(bytes.NewReader(released))
	if err != nil {
		panic("demand: released weights: " + err.Error())
	}
	return n
}
