// Command clustergym-kube schedules the pods of a Kubernetes cluster with a policy of clustergym: a learned bundle or a baseline.
// In shadow mode, the default, it only compares what the policy would do with what another scheduler does.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/policy"
)

// version is the version of the build, which the Makefile sets.
var version = "unknown"

func main() {
	ctx, release := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, release) // the first signal ends the loop in order, the second ends the process
	os.Exit(run(ctx, os.Args[1:], os.Stderr))
}

// The exit codes.
const (
	codeOK     = 0
	codeFailed = 1
	codeUsage  = 2
	codeLost   = 3 // another process leads: restart this one as a standby
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, args []string, talk io.Writer) int {
	began := false
	cmd := newCommand(talk, &began)
	cmd.SetArgs(args)
	cmd.SetOut(os.Stdout)
	cmd.SetErr(talk)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return codeOK
	}
	_, _ = fmt.Fprintf(talk, "clustergym-kube: %v\n", err)
	switch {
	case !began:
		return codeUsage
	case errors.Is(err, errLost):
		return codeLost
	}
	return codeFailed
}

// options are the values of the flags.
type options struct {
	kubeconfig, namespace string
	mode                  string
	policy, fallback      string
	verifyKey             string
	deadline              time.Duration
	schedulers            []string
	gpu                   string
	typeLabel, rackLabel  string
	estimate              time.Duration
	stops                 int
	across                bool
	starvation            time.Duration
	gangDeadline          time.Duration
	lossDeadline          time.Duration
	period                time.Duration
	elect                 bool
	probes                string
	metrics               metricsAddress
	starts                time.Duration
	objective             string
	log                   string
	beliefs               string
	prometheus            measure.Prometheus
	measured              time.Duration
	parallel              int
	verbose               bool
}

func newCommand(talk io.Writer, began *bool) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "clustergym-kube [--mode live]",
		Short: "Schedule a Kubernetes cluster's GPU pods with a policy",
		Long: `Schedules the pods whose spec.schedulerName is clustergym. A policy decides which gangs start and where, always as a
whole or not at all; which gangs stop, grow or shrink; and which nodes inference lends to training. The limits below bound its
decisions. docs/kubernetes.md is the manual.

In shadow mode, the default, the program reads and never writes. It logs what it would do and compares that with what another
scheduler does; give that scheduler's name with --schedulers. In live mode it carries its decisions out. To hold it back at any
time, set the key mode of the ConfigMap ` + control.ControlName + ` in its namespace to off or shadow. While there is no such
ConfigMap it writes nothing, as in shadow mode.

Policies with +know learn from the gangs that run and end here, and from the throughput that their pods report in the annotation
` + measure.Annotation + ` or to Prometheus. With --beliefs the program begins with what the file contains,
and saves what it learned at most once a minute and when it ends.

With --objective the metrics say what the cluster costs, by each term of the objective. In shadow mode they also say what it would
cost if the policy scheduled it, which decides a second time in each round, about the cluster as it would then be.

If the policy has not decided by the deadline, returns an error or panics, the fallback decides this round. When the bundle
in a policy's folder changes, or on SIGHUP, the program reads it again. It refuses a bundle that is damaged, or not signed if
--verify-key is given, and continues with the old one. SIGHUP also reopens the decision log.`,
		Example: `  clustergym-kube --schedulers default-scheduler --policy released
  kubectl create configmap ` + control.ControlName + ` && clustergym-kube --mode live --policy srsf --preemptions-per-hour 20
  clustergym-kube --mode live --policy /etc/policy --verify-key pub.pem --decision-log decisions.jsonl`,
		Args: cobra.NoArgs, Version: version, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			*began = true
			return o.serve(cmd.Context(), talk)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "",
		"kubeconfig file for the cluster (default the pod's own access, else $KUBECONFIG, else ~/.kube/config)")
	f.StringVar(&o.namespace, "namespace", "",
		"namespace of the ConfigMaps and the lease (default the pod's own, else default)")
	f.StringVar(&o.mode, "mode", string(control.Shadow), "shadow: only decide and compare; live: carry decisions out")
	f.StringVar(&o.policy, "policy", "released",
		"the policy: released, a baseline such as srsf, or the folder of an exported policy")
	f.StringVar(&o.fallback, "fallback", "",
		"the policy that decides when the first does not (default its prior, else "+policy.UsualFallback+")")
	f.StringVar(&o.verifyKey, "verify-key", "",
		"file of an Ed25519 public key: only bundles signed with its private key are loaded")
	f.DurationVar(&o.deadline, "deadline", time.Second, "time that the policy has for a decision, and then the fallback")
	f.StringSliceVar(&o.schedulers, "schedulers", []string{"clustergym"},
		"schedule the pods whose spec.schedulerName is one of these")
	f.StringVar(&o.gpu, "gpu-resource", "nvidia.com/gpu", "name of the GPU resource")
	f.StringVar(&o.typeLabel, "gpu-type-label", "nvidia.com/gpu.product", "node label with the GPU type")
	f.StringVar(&o.rackLabel, "rack-label", "topology.kubernetes.io/rack", "node label with the rack")
	f.DurationVar(&o.estimate, "estimate", 24*time.Hour,
		"estimated run time of gangs without an estimate; 0: unknown, which only some policies accept")
	f.IntVar(&o.stops, "preemptions-per-hour", 0, "how many running gangs may be stopped or moved in any hour; 0: none")
	f.BoolVar(&o.across, "preempt-across-namespaces", false,
		"also stop gangs so that gangs of other namespaces with the same priority get their GPUs")
	f.DurationVar(&o.starvation, "starvation", 24*time.Hour,
		"waiting time after which a gang goes before all others, and for how long it may then hold them back; 0: never")
	f.DurationVar(&o.gangDeadline, "gang-deadline", time.Minute,
		"how long a gang that never ran may be partly bound before its bound pods are deleted")
	f.DurationVar(&o.lossDeadline, "loss-deadline", 10*time.Minute,
		"how long a gang that ran may lack pods before its other pods are evicted")
	f.StringVar(&o.objective, "objective", "",
		"what policies decide by that ask for one, and what the metrics of costs count: a name or a YAML file")
	f.DurationVar(&o.starts, "starts", 0,
		"time for forecasting when waiting gangs start, in rounds that explain why they wait, such as 2s; 0: no forecasts")
	f.DurationVar(&o.period, "period", 10*time.Second, "time between rounds when nothing changes")
	f.BoolVar(&o.elect, "leader-elect", false, "act only while holding the lease "+leaseName+", otherwise stand by (live mode)")
	f.StringVar(&o.probes, "probes", "127.0.0.1:8081", "host:port to serve /livez, /healthz and /readyz on")
	f.StringVar(&o.metrics.Host, "metrics", "127.0.0.1:8080",
		"host:port to serve /metrics on; other than on loopback this needs TLS and a token")
	f.StringVar(&o.metrics.Cert, "metrics-tls-cert", "", "file of the certificate of /metrics, with its chain")
	f.StringVar(&o.metrics.Key, "metrics-tls-key", "", "file of that certificate's private key")
	f.StringVar(&o.metrics.tokenFile, "metrics-token-file", "",
		"file of the bearer token that requests for /metrics must contain, 16 bytes or more")
	f.StringVar(&o.log, "decision-log", "", "file to append every decision to, for clustergym replay")
	f.StringVar(&o.beliefs, "beliefs", "",
		"file in which to keep what policies with +know learn, on a volume that outlives the pod")
	f.DurationVar(&o.measured, "readings-settle", time.Minute,
		"ignore reported throughputs this long after a gang starts or its resources change; at least as long as a job measures")
	f.StringVar(&o.prometheus.URL, "prometheus", "",
		"URL of a Prometheus-compatible server to ask for the throughput of pods, such as https://prometheus.monitoring:9090")
	f.StringVar(&o.prometheus.Query, "prometheus-query", "",
		"query for that: a sample for each pod, with the labels namespace and pod")
	f.StringVar(&o.prometheus.CA, "prometheus-ca", "", "file of the certificates to trust for it (default those of the system)")
	f.StringVar(&o.prometheus.TokenFile, "prometheus-token-file", "", "file of the bearer token for it")
	f.DurationVar(&o.prometheus.Every, "prometheus-every", 30*time.Second, "time between two queries")
	f.IntVar(&o.parallel, "parallel", 16, "how many writes to the API server may be in flight at once")
	f.BoolVar(&o.verbose, "verbose", false, "log every write")
	return cmd
}

func (o *options) check() error {
	if o.deadline <= 0 || o.period <= 0 || min(o.estimate, o.starts) < 0 || o.parallel < 1 || o.parallel > 1024 {
		return fmt.Errorf("--deadline %v, --period %v, --estimate %v, --starts %v, --parallel %d: "+
			"want more than 0, and 1 to 1024 requests", o.deadline, o.period, o.estimate, o.starts, o.parallel)
	}
	if o.mode != string(control.Shadow) && o.mode != string(control.Live) {
		return fmt.Errorf("--mode %q, want shadow or live", o.mode)
	}
	if len(o.schedulers) == 0 || o.gpu == "" {
		return fmt.Errorf("--schedulers %q, --gpu-resource %q: want names", o.schedulers, o.gpu)
	}
	if (o.prometheus.URL == "") != (o.prometheus.Query == "") || o.measured < 0 {
		return fmt.Errorf("--prometheus %q, --prometheus-query %q, --readings-settle %v: want both or neither, and a time from 0",
			o.prometheus.URL, o.prometheus.Query, o.measured)
	}
	if o.elect && o.mode != string(control.Live) {
		return fmt.Errorf("--leader-elect writes a lease: want --mode live with it")
	}
	return nil
}

func (o *options) resource() corev1.ResourceName { return corev1.ResourceName(o.gpu) }
