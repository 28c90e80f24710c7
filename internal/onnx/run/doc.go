// Package run reads ONNX models and computes them, for policies that were trained with other software. It knows the operators of
// which exports of multilayer perceptrons and attention by PyTorch and Stable-Baselines3 consist, in operator sets 13 to 22, on
// float32, integers and booleans. It refuses all other models with the reason.
//
// A model is untrusted input. Limits on bytes, nodes, elements and work hold while a model is read and while it runs (see usual:
// at most about a quarter of a second), and a model that breaks a rule of ONNX gives an error. Equal inputs give equal outputs on
// the same platform.
package run
