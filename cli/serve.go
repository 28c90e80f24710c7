package cli

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
)

type serveOptions struct {
	Policy    string        `flag:"policy" required:"true" complete:"policy" help:"the policy: a baseline (see baselines), released, or the folder of an exported policy or run"`
	Fallback  string        `flag:"fallback" complete:"policy" help:"the policy that decides when the first does not (default its prior, else srsf)"`
	Verify    string        `flag:"verify-key" file:"pem" help:"file of a public key: policies from folders must be signed with its private key"`
	Objective string        `flag:"objective" complete:"objective" help:"what policies decide by that ask for one, and what the metrics of costs count: a name or a YAML file, see objective ls"`
	Physics   string        `flag:"physics" default:"ideal" help:"performance model from which policies take speeds, see docs/physics.md"`
	Seed      uint64        `flag:"seed" default:"1" help:"seed of policies that draw random numbers"`
	Deadline  time.Duration `flag:"deadline" default:"1s" min:"1ns" help:"time that the policy has for a decision, and then the fallback"`
	Assume    time.Duration `flag:"assume" min:"0" help:"estimated run time of jobs that have no estimate"`
	Starts    time.Duration `flag:"starts" min:"0" help:"time for forecasting when each waiting job starts, after the reasons, such as 2s; 0: no forecasts"`
	serverOptions
	Token    string `flag:"token-file" help:"file of the token; takes precedence over CLUSTERGYM_TOKEN"`
	Parallel int    `flag:"parallel" min:"0" help:"how many requests to decide at once; more are refused (default the number of cores)"`
	MaxBody  int64  `flag:"max-body" default:"16" min:"1" help:"largest snapshot, in MiB, at most 256"`
	Log      string `flag:"decision-log" help:"file to append every decision to, for clustergym replay"`
	Beliefs  string `flag:"beliefs" help:"file in which to keep what policies with +know learn; see clustergym beliefs --save"`
}

// How often serve checks whether the bundle of its policy has changed. Tests shorten it.
var pollEvery = 2 * time.Second

// How long serve goes on at shutdown: the delay, while only /readyz fails, is long enough for a load balancer that checks every
// two seconds and wants two failures. There is none on a loopback address.
const shutdownDelay, shutdownDrain = 5 * time.Second, 30 * time.Second

// tokenVariable is the name of the environment variable with the token.
const tokenVariable = "CLUSTERGYM_TOKEN"

func newServeCmd(a *app) *cobra.Command {
	return newCommand(a, &serveOptions{serverOptions: serverOptions{Listen: "127.0.0.1:8642"}}, &cobra.Command{
		Use:   "serve --policy P",
		Short: "Answer snapshots with a policy's plans over HTTP",
		Long: cmdline.Long(`
Answers POST /v1/plan, whose body is a snapshot, with what plan --json prints and with who decided and why. The server
changes nothing in the cluster. GET /v1/policy returns which policy decides, /healthz whether the program runs, /readyz
whether it takes requests, /metrics its metrics for Prometheus. docs/production.md has the details.

If the policy has not decided by the deadline, returns an error or panics, the fallback makes this decision, and the answer
says so. When the bundle in a policy's folder changes, or on SIGHUP, the server reads it again. It refuses a bundle that is
damaged or, with --verify-key, not signed by this key, and continues with the old one. SIGHUP also reopens the
decision log. On SIGINT or SIGTERM /readyz fails first; after 5 s, or at once on a loopback address, the server answers its open
requests and ends.

Policies with +know learn from the snapshots of a cluster, in the order in which they come: from jobs that are gone and from
readings. POST /v1/plan?learn=no asks without teaching. --beliefs keeps what they learned in a file: the server begins with
it, and saves it at most once a minute and when it ends.

With --objective the metrics say what the cluster costs, so far and a minute, by each term of the objective, from the same
snapshots. A policy that decides by an objective, such as index, decides by this one, and its answer says when to ask again at
the latest (wake_s): when the rate of what a waiting job costs changes by itself.

With --starts the answer says when each waiting job is expected to start: a median and a 90th percentile, corrected by how
earlier forecasts turned out. docs/what-if.md explains them.

Finding reasons can take longer than deciding: after 5 s the plan has none. POST /v1/plan?reasons=none leaves them out.

To serve other machines, give --tls-cert, --tls-key and a token, in --token-file or `+tokenVariable+`. If there is a token, all
requests except those for health must contain it, as Authorization: Bearer TOKEN.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym serve --policy released
  curl -d @cluster.json http://127.0.0.1:8642/v1/plan
  clustergym serve --policy runs/first/policy --deadline 200ms --fallback sjfskip --decision-log decisions.jsonl
  clustergym serve --policy policies/venus --verify-key pub.pem
  clustergym serve --policy index --objective small-first
  clustergym serve --policy srsf --listen 0.0.0.0:8642 --tls-cert cert.pem --tls-key key.pem --token-file token`,
	}, runServe)
}

func runServe(ctx context.Context, a *app, opts *serveOptions, _ []string) (err error) {
	if opts.MaxBody > 256 {
		return cmdline.Usage("--max-body %d: want at most 256 MiB", opts.MaxBody)
	}
	address, end := opts.address(), serve.Shutdown{Delay: shutdownDelay, Drain: shutdownDrain}
	if address.Loopback() {
		end.Delay = 0
	}
	token, err := readToken(opts.Token)
	if err != nil {
		return err
	}
	if err := address.Validate(token); err != nil {
		return cmdline.Usage("serve: %w", err)
	}
	model, err := physics.Parse(opts.Physics)
	if err != nil {
		return cmdline.Usage("--physics: %w", err)
	}
	from, err := a.verifier(opts.Verify)
	if err != nil {
		return err
	}
	from.Memory = true
	from.Run = a.runReader(func(err error) { a.logger().Warn(err.Error()) })
	source, err := from.Find(opts.Policy)
	if err != nil {
		return err
	}
	var objective *objectives.Objective
	if opts.Objective != "" {
		if objective, err = openObjective(opts.Objective); err != nil {
			return err
		}
	}
	config := serve.Config{
		Config: decide.Config{
			Objective: objective, Source: source, Fallback: from.Fallback(opts.Fallback), Seed: opts.Seed, Deadline: opts.Deadline,
			Parallel: opts.Parallel, Log: a.logger(), Beliefs: opts.Beliefs,
		},
		Profile: physics.Profiled(model), MaxBody: opts.MaxBody << 20, Assume: opts.Assume, Token: token,
	}
	if opts.Starts > 0 {
		config.Forecaster, config.Forecasts = &whatif.Forecaster{Options: whatif.Options{Physics: model, Seed: opts.Seed}}, opts.Starts
	}
	if opts.Log != "" {
		frame := decide.Record{Build: version, Physics: opts.Physics, Seed: opts.Seed, Assume: opts.Assume.Seconds()}
		if objective != nil {
			frame.Objective = objective.Text()
		}
		if config.Decisions, err = decide.OpenLog(opts.Log, frame); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, config.Decisions.Close()) }()
	}
	if opts.Beliefs != "" {
		release, err := decide.LockBeliefs(opts.Beliefs)
		if err != nil {
			return err
		}
		defer release()
	}
	server, err := serve.New(config)
	if err != nil {
		return err
	}
	ln, err := address.Listen(ctx, token)
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	config.Log.Info("serving", "address", ln.Addr().String(), "tls", opts.Cert != "", "token", token != "",
		"policy", opts.Policy, "deadline", opts.Deadline.String(), "version", version)
	return server.Serve(ctx, ln, pollEvery, end, hup)
}

// readToken returns the token from the file, or from the environment if the path is "". It returns "" if there is none.
func readToken(path string) (string, error) {
	if path == "" {
		return strings.TrimSpace(os.Getenv(tokenVariable)), nil
	}
	return serve.ReadToken(path)
}
