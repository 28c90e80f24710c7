package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
	"github.com/clustergym/clustergym/internal/must"
)

// readers returns the rights in the kustomization of shadow mode, with a user instead of the service account.
func readers(t testing.TB, c *kubetest.Cluster, user string) string {
	t.Helper()
	base := repositoryPath(t, "deploy", "kustomize", "base")
	text := must.Get(c.Kubectl("kustomize", base))(t)
	var keep []string
	for doc := range strings.SplitSeq(text, "\n---\n") {
		for _, kind := range []string{"Namespace", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"} {
			if strings.Contains("\n"+doc, "\nkind: "+kind+"\n") {
				doc = strings.Replace(doc, "- kind: ServiceAccount\n  name: clustergym\n  namespace: clustergym-system",
					"- apiGroup: rbac.authorization.k8s.io\n  kind: User\n  name: "+user, 1)
				keep = append(keep, doc)
			}
		}
	}
	if all := strings.Join(keep, "\n---\n"); strings.Count(all, "name: "+user) == 2 {
		return all
	}
	t.Fatalf("the bindings of deploy/kustomize/base are not as they were: %s", text)
	return ""
}

// TestShadow checks that in shadow mode the program decides beside the stock scheduler and writes nothing, whether it has only
// the rights of a reader or those of an administrator.
func TestShadow(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{NativeGroups: true, Tokens: map[string][]string{"reader": {"readers"}}})
	c.KWOK(4)
	c.Apply(readers(t, c, "reader"))
	c.Scheduler()
	k := check(t, c)
	reads, may := newTap(t, c, "reader-tap", c.ConfigOf("reader")), newTap(t, c, "admin-tap", c.Config)
	both := map[string]*tap{"reader": reads, "admin": may}
	runs := map[string]*scheduler{}
	for _, who := range []string{"reader", "admin"} {
		runs[who] = run(t, c, who, "--kubeconfig="+both[who].kubeconfig, "--namespace=clustergym-system", "--verbose",
			"--schedulers=default-scheduler", "--policy=srtf", "--preemptions-per-hour=100", "--estimate=1h", "--period=1s")
	}
	const gangs = 8
	// 96 GPUs requested of 32: most gangs wait, and the policy plans to stop running ones. A gang runs for several periods.
	for i := range gangs {
		g := kubetest.Gang{API: kubetest.Native, Name: fmt.Sprintf("g%d", i), Pods: 3, GPUs: 4, Scheduler: "default-scheduler",
			Annotations: map[string]string{kubetest.RunFor: "6s", "clustergym.dev/estimate": fmt.Sprintf("%dm", 100-10*i)}}
		c.GangPods(g)
	}
	c.AwaitPods("default", "", 3*gangs, "have ended", kubetest.Succeeded)
	for _, who := range []string{"reader", "admin"} {
		s := runs[who]
		c.Await(who+" to compare", func(context.Context) error {
			if n := len(logged(t, c, who, "compared")); n < gangs/2 {
				return fmt.Errorf("%d gangs were compared", n)
			}
			return nil
		})
		writes, _ := both[who].writes()
		if writes != 0 {
			t.Errorf("%s wrote %d times: %v", who, writes, both[who].done())
		}
		if n := both[who].refused("", 403); n != 0 {
			t.Errorf("%s was forbidden %d reads", who, n)
		}
		starts := 0
		for _, first := range []string{"policy", "other", "same"} {
			n := s.number(t, `clustergym_kube_shadow_starts_total{first="`+first+`"}`)
			starts += n
		}
		if starts == 0 {
			t.Errorf("%s counted no start of the other scheduler", who)
		}
	}
	k.finish()
	if got := k.deleted(); len(got) > 0 {
		t.Errorf("pods were deleted: %v", got)
	}
}
