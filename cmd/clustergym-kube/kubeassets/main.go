// Command kubeassets contains the Kubernetes programs that the tests run against, in one binary: etcd, kube-apiserver,
// kube-scheduler, kube-controller-manager, kubectl and the template command of helm. It runs the program whose name it is called
// by.
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	manager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	switch name := filepath.Base(os.Args[0]); name {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(manager.NewControllerManagerCommand()))
	case "kubectl":
		os.Exit(cli.Run(kubectl.NewDefaultKubectlCommand()))
	case "helm":
		if err := template(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, "helm:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintf(os.Stderr, "%s: want to be called as %s\n", name,
			"etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kubectl or helm")
		os.Exit(2)
	}
}

// template runs `helm template NAME CHART [-n NAMESPACE] [-f VALUES]...` with helm's own engine, and checks the values against
// the chart's schema. Chart tests need no more than this, and the rest of helm depends on other versions of Kubernetes.
func template(args []string) error {
	if len(args) < 3 || len(args)%2 == 0 || args[0] != "template" {
		return fmt.Errorf("got %q, want template NAME CHART [-n NAMESPACE] [-f VALUES]", args)
	}
	chart, err := loader.Load(args[2])
	if err != nil {
		return err
	}
	release := chartutil.ReleaseOptions{Name: args[1], Namespace: "default", Revision: 1, IsInstall: true}
	given := map[string]any{}
	for pair := range slices.Chunk(args[3:], 2) {
		switch pair[0] {
		case "-n":
			release.Namespace = pair[1]
		case "-f":
			v, err := chartutil.ReadValuesFile(pair[1])
			if err != nil {
				return fmt.Errorf("read %s: %w", pair[1], err)
			}
			given = chartutil.CoalesceTables(v, given) // a later file overrides an earlier one
		default:
			return fmt.Errorf("got option %s, want -n or -f", pair[0])
		}
	}
	values, err := chartutil.ToRenderValues(chart, given, release, chartutil.DefaultCapabilities)
	if err != nil {
		return err
	}
	files, err := engine.Render(chart, values)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.TrimSpace(files[name]) != "" && filepath.Ext(name) == ".yaml" { // not NOTES.txt
			fmt.Printf("---\n# Source: %s\n%s\n", name, files[name])
		}
	}
	return nil
}
