package main

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/yaml"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/control"
	"github.com/clustergym/clustergym/cmd/clustergym-kube/measure"
	"github.com/clustergym/clustergym/env/objectives"
	"github.com/clustergym/clustergym/internal/must"
	"github.com/clustergym/clustergym/policy"
	"github.com/clustergym/clustergym/serve/decide"
)

// TestAlertsAndDashboardAskForMetricsThatExist checks that every metric in the alert rules and the dashboard is one of the
// program, with labels that it has, that parentheses are balanced, and that each alert leads to a section of the runbook.
func TestAlertsAndDashboardAskForMetricsThatExist(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	must.Do(t, yaml.UnmarshalStrict(file(t, "deploy/observe/alerts.yaml"), &rules))
	var board struct {
		Panels []struct {
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
	}
	must.Do(t, json.Unmarshal(file(t, "deploy/observe/dashboard.json"), &board))
	asks := map[string]string{}
	runbook := headings(file(t, "../../docs/runbook-kubernetes.md"))
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			asks[r.Alert] = r.Expr
			page, section, _ := strings.Cut(r.Annotations["runbook"], "#")
			if page != "docs/runbook-kubernetes.md" || !slices.Contains(runbook, section) {
				t.Errorf("%s: runbook %q, want one of the sections %q", r.Alert, r.Annotations["runbook"], runbook)
			}
			if _, err := time.ParseDuration(r.For); r.For != "" && err != nil || r.Labels["severity"] == "" || r.Annotations["summary"] == "" {
				t.Errorf("%s: for %q, %v, %v", r.Alert, r.For, r.Labels, r.Annotations)
			}
		}
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			asks[p.Title+" "+target.Expr] = target.Expr
		}
	}
	if len(asks) < 20 {
		t.Fatalf("%d expressions", len(asks))
	}
	labels := metricLabels(t)
	metric, matcher := regexp.MustCompile(`clustergym_\w+`), regexp.MustCompile(`(clustergym_\w+)\{(\w+)=`)
	for name, expr := range asks {
		if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "[") != strings.Count(expr, "]") {
			t.Errorf("%s: %s is not balanced", name, expr)
		}
		for _, m := range metric.FindAllString(expr, -1) {
			if _, known := labels[strings.TrimSuffix(m, "_bucket")]; !known {
				t.Errorf("%s: there is no metric %s", name, m)
			}
		}
		for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
			if !slices.Contains(labels[m[1]], m[2]) {
				t.Errorf("%s: %s has the labels %q, not %s", name, m[1], labels[m[1]], m[2])
			}
		}
	}
}

func file(t *testing.T, path string) []byte {
	t.Helper()
	text := must.Get(os.ReadFile(path))(t)
	return text
}

// headings returns the anchors of the sections of a page.
func headings(page []byte) (anchors []string) {
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			title = regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			anchors = append(anchors, strings.ReplaceAll(title, " ", "-"))
		}
	}
	return anchors
}

// metricLabels returns the labels of the program's own metrics, by name.
func metricLabels(t *testing.T) map[string][]string {
	t.Helper()
	source := must.Get(new(policy.Finder).Find("fifo"))(t)
	all := &listed{Registry: prometheus.NewRegistry(), labels: map[string][]string{}}
	d := must.Get(decide.New(decide.Config{Source: source, Registry: all, Objective: objectives.Usual()}))(t)
	if _, err := measure.New(0, nil, all, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := measure.NewQueries(all); err != nil {
		t.Fatal(err)
	}
	if _, err := control.New(control.Config{Mode: control.Shadow, Client: fake.NewClientset(), Decider: d}, all); err != nil {
		t.Fatal(err)
	}
	return all.labels
}

// listed is a registry that lists the metrics registered with it.
type listed struct {
	*prometheus.Registry
	labels map[string][]string
}

func (l *listed) Register(c prometheus.Collector) error {
	all := make(chan *prometheus.Desc, 100)
	c.Describe(all)
	close(all)
	text := regexp.MustCompile(`fqName: "(\w+)".*variableLabels: \{([\w,]*)\}`)
	for desc := range all {
		if m := text.FindStringSubmatch(desc.String()); m != nil {
			l.labels[m[1]] = strings.Split(m[2], ",")
		}
	}
	return l.Registry.Register(c)
}

func (l *listed) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := l.Register(c); err != nil {
			panic(err)
		}
	}
}
