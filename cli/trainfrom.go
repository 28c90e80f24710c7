package cli

import (
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/internal/config"
	"github.com/clustergym/clustergym/train"
)

// beginning reads the policy that --from or another layer of the settings names, nil if none does.
func (o *trainOptions) beginning(a *app, layers config.Options) (*train.From, error) {
	named := trainSettings{Train: train.DefaultConfig()}
	if _, err := config.Load(o.Config, &named, layers); err != nil {
		return nil, err
	}
	name := named.From
	if o.From != "" {
		name = o.From
	}
	if name == "" {
		return nil, nil
	}
	p, err := a.findPolicy(name)
	if err != nil {
		return nil, err
	}
	if p.Central != nil {
		return nil, cmdline.Usage("--from %s: its ONNX model was trained with other software: only a team of agents can be"+
			" trained further", name)
	}
	if p.Learned == nil || len(p.Spec.Suffixes) > 0 {
		return nil, cmdline.Usage("--from %s: want released or the folder of a policy or run, without a suffix; "+
			"train.prior names the baseline that an untrained team begins as", name)
	}
	return &train.From{Policy: p.Learned, Training: p.Training}, nil
}
