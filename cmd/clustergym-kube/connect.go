package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/events"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/act"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
)

// connected is a loop's configuration with clients of the cluster.
type connected struct {
	control.Config
	lease    kubernetes.Interface // a client of its own, so that a busy round cannot delay the lease's renewal
	renewals *renewals            // of the lease: the other clients write only soon after one
}

// namespaceFile is the file in which a pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// connect creates the clients. In shadow mode it creates none that can write. Events are sent until the context ends.
func (o *options) connect(ctx context.Context, log *slog.Logger) (*connected, error) {
	config, err := o.restConfig()
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	c := &connected{Config: control.Config{
		Mode: control.Mode(o.mode), Namespace: o.namespaceOr(), Mirror: o.mirrorConfig(), Period: o.period,
		GangDeadline: o.gangDeadline, LossDeadline: o.lossDeadline, Stops: o.stops, Across: o.across, Starvation: o.starvation,
	}}
	if o.elect {
		if c.lease, err = kubernetes.NewForConfig(protobuf(config)); err != nil {
			return nil, fmt.Errorf("connect to the cluster: %w", err)
		}
		c.renewals = &renewals{most: usualLease.renew}
		config = rest.CopyConfig(config)
		config.Wrap(c.renewals.guard)
	}
	if c.Client, err = kubernetes.NewForConfig(protobuf(config)); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if c.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	if c.Mode != control.Live {
		return c, nil
	}
	discovery := memory.NewMemCacheClient(c.Client.Discovery())
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(discovery)
	kinds := scale.NewDiscoveryScaleKindResolver(discovery)
	scales, err := scale.NewForConfig(config, mapper, dynamic.LegacyAPIPathResolverFunc, kinds)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: c.Client.EventsV1()})
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return nil, fmt.Errorf("record events: %w", err)
	}
	c.Actor = &act.Actor{
		Client: c.Client, Scales: scales, Mapper: mapper, Events: broadcaster.NewRecorder(scheme.Scheme, "clustergym"),
		Parallel: o.parallel, Log: log,
	}
	return c, nil
}

// restConfig finds the cluster's API server and credentials. It sets no rate limit: the number of concurrent requests limits the
// load, and a rate limit would delay the pods of a gang that must be bound together.
func (o *options) restConfig() (*rest.Config, error) {
	config, err := rest.InClusterConfig()
	if o.kubeconfig != "" || err != nil {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = o.kubeconfig
		if config, err = clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig(); err != nil {
			return nil, err
		}
	}
	config.QPS, config.UserAgent = -1, "clustergym-kube/"+version
	return config, nil
}

// protobuf returns the configuration for clients of built-in Kubernetes objects, which can use the compact protobuf encoding.
func protobuf(config *rest.Config) *rest.Config {
	c := rest.CopyConfig(config)
	c.ContentType = "application/vnd.kubernetes.protobuf"
	c.AcceptContentTypes = c.ContentType + ",application/json"
	return c
}

func (o *options) namespaceOr() string {
	if o.namespace != "" {
		return o.namespace
	}
	if text, err := os.ReadFile(namespaceFile); err == nil && len(strings.TrimSpace(string(text))) > 0 {
		return strings.TrimSpace(string(text))
	}
	return "default"
}
