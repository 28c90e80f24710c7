package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/agents/export"
	"github.com/clustergym/clustergym/baselines"
	"github.com/clustergym/clustergym/checkpoints"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/train"
	"github.com/clustergym/clustergym/train/recipe"
)

type exportOptions struct {
	Run   string `flag:"run" file:"dir" help:"folder of the run"`
	Model string `flag:"model" file:"onnx" help:"file of an ONNX model of a policy that was trained with other software"`
	Out   string `flag:"out,o" file:"dir" help:"folder of the bundle (default RUN/policy)"`
	Name  string `flag:"name" help:"name of the policy (default that of the run's folder, or of --out)"`
	Key   string `flag:"sign-key" file:"pem" help:"file of the private key to sign with"`
	Older bool   `flag:"allow-older" help:"export the newest good checkpoint if newer ones are damaged"`
	envOptions
}

func newExportCmd(a *app) *cobra.Command {
	return newCommand(a, &exportOptions{}, &cobra.Command{
		Use:   "export {--run DIR | --model FILE --scenario S --out DIR}",
		Short: "Write a trained policy as a bundle",
		Long: cmdline.Long(`
Writes the best weights of a run as a policy bundle: a folder with weights.safetensors, policy.onnx, manifest.json and
README.md. manifest.json contains every feature with unit and range, the prior and its margin, the architecture, the training
and the SHA-256 of the other files. README.md is the model card: what the policy is, what it was trained and validated on,
its limits and how to use it. eval, plan and simulate take the folder as a policy, and Go programs load it with the package
agents. policy.onnx is the network for other runtimes: docs/production.md explains how to use it.

A bundle that is already in the folder is replaced, with its card. The command refuses a folder that contains anything else,
such as another README.md.

The command refuses a run whose newest checkpoint is damaged, unless --allow-older allows it to use the newest good one.

With --model the policy was trained with other software: the bundle is policy.onnx, manifest.json and README.md. The Python
package does so in clustergym.export_policy; docs/python.md says how a model is exported from PyTorch, and what its inputs and
its output are. The flags of the environment are those with which that policy was trained. --scenario, --split and --reward are
recorded, and eval refuses windows that share jobs with the training and validation windows of the scenario, or with those of the
split. --agree makes no difference.

Before the folder is written, the policy of a model plays 64 rounds of the scenario as a trial. The command refuses a model that
does not fit the observations, that this program cannot compute, or that fails in the trial: the score of a number that may be
named is infinite or no number, or a round takes more than a quarter of a second of one core, or 128 MiB.

--sign-key signs the bundle with an Ed25519 key, for serve, plan and other programs that verify it: docs/production.md
explains how.`,
			cmdline.CodeNoRun),
		Example: `  clustergym export --run runs/first
  clustergym export --run runs/first --out policies/venus-small --name venus-small
  clustergym export --run runs/first --sign-key key.pem
  clustergym export --model policy.onnx --scenario embedded-small-v1 --out policies/mine
  clustergym export --model policy.onnx --scenario embedded-small-v1 --prior sjfskip --candidates 24 --out policies/wide`,
	}, runExport)
}

// exported is the result of export.
type exported struct {
	Policy string   `json:"policy"` // its name
	Out    string   `json:"out"`
	taught []string // the scenarios whose training splits teach what the policy begins with; nil if it begins with nothing
}

func runExport(ctx context.Context, a *app, opts *exportOptions, _ []string) error {
	switch {
	case (opts.Run == "") == (opts.Model == ""):
		return cmdline.Usage("want --run or --model, and not both")
	case opts.Model != "" && opts.Out == "":
		return cmdline.Usage("--model %s: want --out, too", opts.Model)
	case opts.Model != "":
		return runExportONNX(ctx, a, opts)
	}
	result, err := exportRun(a, opts)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(result)
	}
	a.Printf("policy %s: %s\ntry it:  %s > cluster.json\n", result.Policy, result.Out, next("plan", "--example"))
	asked := []string{"--policy", named(result.Out, nil)}
	if result.taught != nil {
		file := filepath.Join(opts.Run, "beliefs.json")
		a.Printf("         %s\n", next("beliefs", "--scenario", result.taught[0], "--save", file))
		asked = append(asked, "--beliefs", file)
	}
	a.Printf("         %s\n", next(append([]string{"plan", "--snapshot", "cluster.json"}, asked...)...))
	a.Printf("serve:   %s\n", next(append([]string{"serve"}, asked...)...))
	return nil
}

func exportRun(a *app, opts *exportOptions) (*exported, error) {
	key, err := opts.signingKey()
	if err != nil {
		return nil, err
	}
	var older func(*train.OlderError) error
	if opts.Older {
		older = warned(opts.Run, a.Warn)
	}
	p, training, err := a.loadRun(opts.Run, older)
	if damage, ok := errors.AsType[*train.OlderError](err); ok {
		return nil, fmt.Errorf("%w\n--allow-older exports checkpoint %d", err, damage.Step)
	}
	if err != nil {
		return nil, err
	}
	out := opts.Out
	if out == "" {
		out = filepath.Join(opts.Run, "policy")
	}
	p.Name = opts.Name
	if p.Name == "" {
		p.Name = filepath.Base(filepath.Clean(opts.Run))
	}
	if err := export.Save(out, p, "clustergym "+version, training, key); err != nil {
		return nil, err
	}
	return &exported{p.Name, out, taughtBy(opts.Run, p.Base().Needs())}, nil
}

// signingKey returns the key to sign with, nil for none.
func (o *exportOptions) signingKey() (ed25519.PrivateKey, error) {
	if o.Key == "" {
		return nil, nil
	}
	return checkpoints.ReadSigningKey(o.Key)
}

// taughtBy returns the scenarios of a run whose prior begins with what their training splits teach.
func taughtBy(run string, needs baselines.Needs) []string {
	if !needs.Learned && !needs.Speeds {
		return nil
	}
	r, err := readRecipe(run)
	if err != nil {
		return nil
	}
	return recipe.Names(run, r.Scenarios)
}
