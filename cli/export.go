package cli

import (
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
	run  string
	out  string
	name string
	key  string

	older bool // may be exported
}

func newExportCmd(a *app) *cobra.Command {
	var opts exportOptions
	cmd := &cobra.Command{
		Use:   "export --run DIR",
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

For a policy that was trained with other software, see export onnx.

--sign-key signs the bundle with an Ed25519 key, for serve, plan and other programs that verify it: docs/production.md
explains how.`,
			cmdline.CodeNoRun),
		Example: `  clustergym export --run runs/first
  clustergym export --run runs/first --out policies/venus-small --name venus-small
  clustergym export --run runs/first --sign-key key.pem`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return runExport(a, opts) },
	}
	f := cmd.Flags()
	f.StringVar(&opts.run, "run", "", "folder of the run")
	f.StringVarP(&opts.out, "out", "o", "", "folder of the bundle (default RUN/policy)")
	f.StringVar(&opts.name, "name", "", "name of the policy (default the run's)")
	f.StringVar(&opts.key, "sign-key", "", "file of the private key to sign with")
	f.BoolVar(&opts.older, "allow-older", false, "export the newest good checkpoint if newer ones are damaged")
	cmdline.Require(cmd, "run")
	cmd.AddCommand(newExportONNXCmd(a))
	return cmd
}

// exported is the result of export.
type exported struct {
	Policy string   `json:"policy"` // its name
	Out    string   `json:"out"`
	taught []string // the scenarios whose training splits teach what the policy begins with; nil if it begins with nothing
}

func runExport(a *app, opts exportOptions) error {
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
		file := filepath.Join(opts.run, "beliefs.json")
		a.Printf("         %s\n", next("beliefs", "--scenario", result.taught[0], "--save", file))
		asked = append(asked, "--beliefs", file)
	}
	a.Printf("         %s\n", next(append([]string{"plan", "--snapshot", "cluster.json"}, asked...)...))
	a.Printf("serve:   %s\n", next(append([]string{"serve"}, asked...)...))
	return nil
}

func exportRun(a *app, opts exportOptions) (*exported, error) {
	var key ed25519.PrivateKey
	if opts.key != "" {
		var err error
		if key, err = checkpoints.ReadSigningKey(opts.key); err != nil {
			return nil, err
		}
	}
	var older func(*train.OlderError) error
	if opts.older {
		older = warned(opts.run, a.Warn)
	}
	p, training, err := loadRun(opts.run, older)
	if damage, ok := errors.AsType[*train.OlderError](err); ok {
		return nil, fmt.Errorf("%w\n--allow-older exports checkpoint %d", err, damage.Step)
	}
	if err != nil {
		return nil, err
	}
	out := opts.out
	if out == "" {
		out = filepath.Join(opts.run, "policy")
	}
	p.Name = opts.name
	if p.Name == "" {
		p.Name = filepath.Base(filepath.Clean(opts.run))
	}
	if err := export.Save(out, p, "clustergym "+version, training, key); err != nil {
		return nil, err
	}
	return &exported{p.Name, out, taughtBy(opts.run, p.Prior)}, nil
}

// taughtBy returns the scenarios of a run whose prior begins with what their training splits teach.
func taughtBy(run, prior string) []string {
	needs, err := baselines.Fits(prior)
	if err != nil || !needs.Learned && !needs.Speeds {
		return nil
	}
	r, err := readRecipe(run)
	if err != nil {
		return nil
	}
	return recipe.Names(run, r.Scenarios)
}
