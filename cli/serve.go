package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/clustergym/clustergym/env/physics"
	"github.com/clustergym/clustergym/eval/whatif"
	"github.com/clustergym/clustergym/internal/cmdline"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve"
	"github.com/clustergym/clustergym/serve/decide"
)

type serveOptions struct {
	policy   string
	fallback string
	key      string
	physics  string
	seed     uint64
	deadline time.Duration
	reasons  time.Duration
	assume   time.Duration
	starts   time.Duration
	address  serve.Address
	token    string
	parallel int
	maxBody  int64
	poll     time.Duration
	end      serve.Shutdown
	log      string
	beliefs  string
}

// usualDelay is long enough for a load balancer that checks every two seconds and wants two failures.
const usualDelay = 5 * time.Second

// tokenVariable is the name of the environment variable with the token.
const tokenVariable = "CLUSTERGYM_TOKEN"

func newServeCmd(a *app) *cobra.Command {
	var opts serveOptions
	cmd := &cobra.Command{
		Use:   "serve --policy P",
		Short: "Answer snapshots with a policy's plans over HTTP",
		Long: cmdline.Long(`
Answers POST /v1/plan, whose body is a snapshot, with what plan --json prints and with who decided and why. The server
changes nothing in the cluster. GET /v1/policy returns which policy decides, /healthz whether the program runs, /readyz
whether it takes requests, /metrics its metrics for Prometheus. docs/production.md has the details.

If the policy has not decided by the deadline, returns an error or panics, the fallback makes this decision, and the answer
says so. When the bundle in a policy's folder changes, or on SIGHUP, the server reads it again. It refuses a bundle that is
damaged or, with --verify-key, not signed by this key, and continues with the old one. SIGHUP also reopens the
decision log. On SIGINT or SIGTERM /readyz fails first; after --shutdown-delay the server answers its open requests and ends.

Policies with +know learn from the snapshots of a cluster, in the order in which they come: from jobs that are gone and from
readings. POST /v1/plan?learn=no asks without teaching. --beliefs keeps what they learned in a file: the server begins with
it, and saves it at most once a minute and when it ends.

With --starts the answer says when each waiting job is expected to start: a median and a 90th percentile, corrected by how
earlier forecasts turned out. docs/what-if.md explains them.

Finding reasons can take longer than deciding: --reasons limits the time for it, and POST /v1/plan?reasons=none leaves them
out.

To serve other machines, give --tls-cert, --tls-key and a token, in --token-file or `+tokenVariable+`. If there is a token, all
requests except those for health must contain it, as Authorization: Bearer TOKEN.
`, cmdline.CodeNoRun, cmdline.CodeMismatch),
		Example: `  clustergym serve --policy released
  curl -d @cluster.json http://127.0.0.1:8642/v1/plan
  clustergym serve --policy runs/first/policy --deadline 200ms --fallback sjfskip --decision-log decisions.jsonl
  clustergym serve --policy policies/venus --verify-key pub.pem
  clustergym serve --policy srsf --listen 0.0.0.0:8642 --tls-cert cert.pem --tls-key key.pem --token-file token`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if opts.address.Loopback() && !cmd.Flags().Changed("shutdown-delay") {
				opts.end.Delay = 0
			}
			return runServe(cmd.Context(), a, opts)
		},
	}
	f := cmd.Flags()
	f.StringVar(&opts.policy, "policy", "",
		"the policy: a baseline (see baselines ls), released, or the folder of an exported policy or run")
	f.StringVar(&opts.fallback, "fallback", "",
		"the policy that decides when the first does not (default its prior, else "+policy.UsualFallback+")")
	f.StringVar(&opts.key, "verify-key", "", "file of a public key: policies from folders must be signed with its private key")
	f.StringVar(&opts.physics, "physics", "ideal", "performance model from which policies take speeds, see physics ls")
	f.Uint64Var(&opts.seed, "seed", 1, "seed of policies that draw random numbers")
	f.DurationVar(&opts.deadline, "deadline", time.Second, "time that the policy has for a decision, and then the fallback")
	f.DurationVar(&opts.reasons, "reasons", 5*time.Second,
		"time for finding reasons, after the decision; if it is too short, the plan has none")
	f.DurationVar(&opts.assume, "assume", 0, "estimated run time of jobs that have no estimate")
	f.DurationVar(&opts.starts, "starts", 0,
		"time for forecasting when each waiting job starts, after the reasons, such as 2s; 0: no forecasts")
	f.StringVar(&opts.address.Host, "listen", "127.0.0.1:8642", "host:port to listen on; port 0 takes a free one")
	f.StringVar(&opts.address.Cert, "tls-cert", "", "file of the certificate, with its chain")
	f.StringVar(&opts.address.Key, "tls-key", "", "file of the certificate's private key")
	f.StringVar(&opts.token, "token-file", "", "file of the token; takes precedence over "+tokenVariable)
	f.IntVar(&opts.parallel, "parallel", 0, "how many requests to decide at once; more are refused (default the number of cores)")
	f.Int64Var(&opts.maxBody, "max-body", 16, "largest snapshot, in MiB")
	f.DurationVar(&opts.poll, "poll", 2*time.Second, "how often to check whether the bundle has changed")
	f.DurationVar(&opts.end.Delay, "shutdown-delay", usualDelay,
		"at shutdown, how long to answer all requests while only /readyz fails; 0 on a loopback address unless given")
	f.DurationVar(&opts.end.Drain, "drain", 30*time.Second, "how long to continue answering open requests at shutdown")
	f.StringVar(&opts.log, "decision-log", "", "file to append every decision to, for serve replay")
	f.StringVar(&opts.beliefs, "beliefs", "",
		"file in which to keep what policies with +know learn; see clustergym beliefs --save")
	cmdline.Require(cmd, "policy")
	cmdline.Complete(cmd, "policy", policy.Names)
	cmdline.Complete(cmd, "fallback", policy.Names)
	cmd.AddCommand(newServeReplayCmd(a))
	return cmd
}

func runServe(ctx context.Context, a *app, opts serveOptions) (err error) {
	if min(opts.deadline, opts.reasons, opts.poll, opts.end.Drain) <= 0 ||
		min(opts.end.Delay, opts.assume, opts.starts) < 0 || opts.parallel < 0 ||
		opts.maxBody < 1 || opts.maxBody > 256 {
		return cmdline.Usage("--deadline %v, --reasons %v, --poll %v, --drain %v, --shutdown-delay %v, --assume %v, --starts %v, "+
			"--parallel %d, --max-body %d: want more than 0, and at most 256 MiB", opts.deadline, opts.reasons, opts.poll, opts.end.Drain,
			opts.end.Delay, opts.assume, opts.starts, opts.parallel, opts.maxBody)
	}
	token, err := readToken(opts.token)
	if err != nil {
		return err
	}
	if err := opts.address.Validate(token); err != nil {
		return cmdline.Usage("serve: %w", err)
	}
	model, err := physics.Parse(opts.physics)
	if err != nil {
		return cmdline.Usage("--physics: %w", err)
	}
	from, err := a.verifier(opts.key)
	if err != nil {
		return err
	}
	from.Memory = true
	from.Run = runReader(func(err error) { a.logger().Warn(err.Error()) })
	source, err := from.Find(opts.policy)
	if err != nil {
		return err
	}
	config := serve.Config{
		Config: decide.Config{
			Source: source, Fallback: from.Fallback(opts.fallback), Seed: opts.seed, Deadline: opts.deadline, Reasons: opts.reasons,
			Parallel: opts.parallel, Log: a.logger(), Beliefs: opts.beliefs,
		},
		Profile: physics.Profiled(model), MaxBody: opts.maxBody << 20, Assume: opts.assume, Token: token,
	}
	if opts.starts > 0 {
		config.Forecaster, config.Forecasts = &whatif.Production{Forecaster: whatif.Forecaster{
			Options: whatif.Options{Physics: model, Seed: opts.seed},
		}}, opts.starts
	}
	if opts.log != "" {
		frame := decide.Record{Build: version, Physics: opts.physics, Seed: opts.seed, Assume: opts.assume.Seconds()}
		if config.Decisions, err = decide.OpenLog(opts.log, frame); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, config.Decisions.Close()) }()
	}
	if opts.beliefs != "" {
		release, err := decide.LockBeliefs(opts.beliefs)
		if err != nil {
			return err
		}
		defer release()
	}
	server, err := serve.New(config)
	if err != nil {
		return err
	}
	ln, err := opts.address.Listen(ctx, token)
	if err != nil {
		return err
	}
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	config.Log.Info("serving", "address", ln.Addr().String(), "tls", opts.address.Cert != "", "token", token != "",
		"policy", opts.policy, "deadline", opts.deadline.String(), "version", version)
	return server.Serve(ctx, ln, opts.poll, opts.end, hup)
}

// readToken returns the token from the file, or from the environment if the path is "". It returns "" if there is none.
func readToken(path string) (string, error) {
	if path == "" {
		return strings.TrimSpace(os.Getenv(tokenVariable)), nil
	}
	return serve.ReadToken(path)
}

// logger returns a logger that writes text to a terminal and otherwise JSON. With --quiet it logs only warnings and errors.
func (a *app) logger() *slog.Logger {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.Quiet {
		opts.Level = slog.LevelWarn
	}
	return slog.New(serve.LogHandler(a.Talk, opts))
}
