package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// number is a metric as a number.
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

// moreThan is for Await: more gangs were bound.
func (s *scheduler) moreThan(t testing.TB, n int) func(context.Context) error {
	return func(context.Context) error {
		if now := s.boundGangs(t); now <= n {
			return fmt.Errorf("%d gangs were bound, want more than %d", now, n)
		}
		return nil
	}
}

// rows are what a checker has seen.
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

// sayDeleted are the pods that the programs say they have deleted or evicted, each as often as it was.
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

// unexplained are the pods that were deleted and of which the programs do not say that they deleted them, or meant to: a
// program that was killed in the middle may not have come to say it.
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
		} else if !meant[name[:max(0, len(name)-2)]] { // pods are GANG-0 to GANG-9
			names = append(names, name)
		}
	}
	return names
}
