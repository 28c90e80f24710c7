package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// number returns the value of a metric.
func (s *scheduler) number(t testing.TB, name string) int {
	t.Helper()
	text := s.metric(t, name)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("metric %s is %q", name, text)
	}
	return int(n)
}

func (s *scheduler) boundGangs(t testing.TB) int {
	t.Helper()
	return s.number(t, `clustergym_kube_bound_total{what="gangs"}`)
}

// moreThan returns a function for Await that waits until more than n gangs were bound.
func (s *scheduler) moreThan(t testing.TB, n int) func(context.Context) error {
	return func(context.Context) error {
		if now := s.boundGangs(t); now <= n {
			return fmt.Errorf("%d gangs were bound, want more than %d", now, n)
		}
		return nil
	}
}

// rows returns the checker's results for a table.
func (k *checker) rows(gangs, pods int) [][2]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return [][2]string{
		{"gangs that ran to their end", fmt.Sprint(gangs)},
		{"pods of these", fmt.Sprint(pods)},
		{"pods bound that were watched", fmt.Sprint(len(k.node))},
		{"longest that a gang was bound in part", fmt.Sprint(k.worst.Round(1e6))},
		{"pods deleted by others than the test", fmt.Sprint(len(k.gone))},
		{"breaches of invariants", fmt.Sprint(len(k.faults))},
	}
}

// sayDeleted returns the names of the pods that the programs have deleted or evicted according to their logs, sorted; a name
// occurs as often as it was deleted.
func sayDeleted(t testing.TB, k *checker, prefix string) (names []string) {
	t.Helper()
	for _, message := range []string{"delete", "evict"} {
		for _, line := range logged(t, k.c, prefix, message) {
			pod, _ := field(line, "pod")
			names = append(names, pod)
		}
	}
	slices.Sort(names)
	return names
}

// unexplained returns the names of the deleted pods that no log explains. A pod of a gang that a log reports as given up counts
// as explained, because the program may have been killed before it logged the deletion.
func (k *checker) unexplained(t testing.TB, prefix string) (names []string) {
	t.Helper()
	said := sayDeleted(t, k, prefix)
	meant := map[string]bool{}
	for _, line := range logged(t, k.c, prefix, "gang given up") {
		gang, _ := field(line, "gang")
		meant[gang] = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, name := range k.gone {
		if at := slices.Index(said, name); at >= 0 {
			said = slices.Delete(said, at, at+1)
		} else if !meant[name[:max(0, len(name)-2)]] { // pods are named GANG-0 to GANG-9
			names = append(names, name)
		}
	}
	return names
}
