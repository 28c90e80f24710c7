package e2e

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/clustergym/clustergym/cmd/clustergym-kube/kubetest"
)

var replayFlag = flag.String("window", "short", "what TestReplay replays: short, for a minute, or long, for ten")

// replayWindows are the windows that can be replayed. On 800 GPUs no 300 consecutive jobs of the traces, cut to 6 h, have to wait
// at their original rate. So the long window has its arrivals compressed to the given load.
var replayWindows = map[string]replayWindow{
	"short": {start: 3880, count: 40, longest: time.Hour, seed: 7, most: 48, nodes: 10, speed: 75},
	"long":  {start: 9640, count: 300, longest: 6 * time.Hour, load: 1.75, seed: 1, most: 160, nodes: 100, speed: 50},
}

const (
	replayPolicy       = "released"
	replayGangDeadline = time.Minute // the program's default
)

// TestReplay replays a window of a real trace on a cluster. It checks that every gang is bound completely and ends, that no node
// is overcommitted, and that replaying the logged decisions gives the same decisions. It logs the schedule beside the
// simulator's.
func TestReplay(t *testing.T) {
	w, ok := replayWindows[*replayFlag]
	if !ok {
		t.Fatalf("-window=%s, want short or long", *replayFlag)
	}
	of, jobs := w.gangs(t)
	predicted := predict(t, replayPolicy, w.nodes, simulated(jobs))

	c := kubetest.Start(t, kubetest.Options{NativeGroups: true})
	c.KWOK(w.nodes)
	decisions := filepath.Join(c.Logs, "decisions.jsonl")
	s := run(t, c, "clustergym-kube", "--mode=live", "--policy="+replayPolicy, "--decision-log="+decisions,
		"--gang-deadline="+replayGangDeadline.String())
	watch := watchGangs(t, c, metav1.NamespaceDefault, jobs, nil)
	t.Logf("%s: it will take %v", of, predicted.makespan().Round(time.Second))

	began := time.Now()
	for i := range jobs {
		select {
		case <-time.After(time.Until(began.Add(jobs[i].Submit))):
		case <-s.Ended():
			t.Fatal("the scheduler has ended")
		}
		c.GangPods(jobs[i].gang())
	}
	select {
	case <-watch.done:
	case <-s.Ended():
		t.Error("the scheduler has ended")
	case <-time.After(2*predicted.makespan() + 2*time.Minute):
		t.Error("it takes far longer than it should")
	}
	lives := watch.close(t)
	stopped, given := s.metric(t, `clustergym_kube_stopped_total{why="policy"}`), s.metric(t, "clustergym_kube_gangs_given_up_total")
	counted := s.counts(t)
	if t.Failed() {
		return
	}
	if stopped != "0" || given != "0" {
		t.Errorf("%q gangs were stopped and %q given up, want none", stopped, given)
	}
	longest := time.Duration(0)
	for i := range lives {
		longest = max(longest, lives[i].bound.Sub(lives[i].first))
	}
	if longest > replayGangDeadline {
		t.Errorf("a gang was bound in part for %v, want %v at most", longest, replayGangDeadline)
	}

	r := replayed{window: w, jobs: jobs, lives: lives, began: began, predicted: predicted}
	r.measured = predict(t, replayPolicy, w.nodes, r.asMeasured())
	t.Logf("%s\n%s%s\nfrom a gang's first pod bound to its last: %v at most; %s", of, r.table(), r.parts(),
		longest.Round(time.Millisecond), counted)

	if err := s.Signal(syscall.SIGTERM); err != nil { // so that the log is complete
		t.Fatal(err)
	}
	<-s.Ended()
	again := decideAgain(t, decisions)
	if again.Decisions == 0 || again.Same != again.Decisions || again.Others > 0 {
		t.Errorf("of %d decisions %d are the same when they are made again, %d differ, %d fail, %d were by another policy: %s",
			again.Decisions, again.Same, again.Differ, again.Failed, again.Others, again.Lines)
	}
	t.Logf("decisions made again from their snapshots, offline: %d, the same: %d", again.Decisions, again.Same)
}

// replayedLog is the output of clustergym serve replay for a decision log.
type replayedLog struct {
	Decisions int             `json:"decisions"`
	Same      int             `json:"same"`
	Differ    int             `json:"differ"`
	Failed    int             `json:"failed"`
	Others    int             `json:"other_digest"`
	Lines     json.RawMessage `json:"lines"`
}

// decideAgain replays the decisions of a log with clustergym serve replay, as users do.
func decideAgain(t *testing.T, log string) (out replayedLog) {
	t.Helper()
	path, err := clustergym()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "serve", "replay", "--json", "--log", log)
	cmd.Stderr = os.Stderr
	text, failed := cmd.Output() // fails if decisions differ, and prints which
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("clustergym serve replay: %v, %v, it prints %q", failed, err, text)
	}
	return out
}
