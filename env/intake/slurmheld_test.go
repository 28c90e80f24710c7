package intake

import (
	"fmt"
	"strings"
	"testing"
)

// TestSlurmReasons checks which waiting jobs Slurm would start as soon as GPUs are free, and that the others are left out by
// name.
func TestSlurmReasons(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`))
	for _, reason := range []string{"", "None", "Priority", "Resources", "SchedDefer", "WaitingForScheduling"} {
		r, err := readSlurm(nodes, slurmList("jobs", slurmJobOf(8, "PENDING", asks(1, 1, "")+fmt.Sprintf(`,"state_reason":%q`, reason))))
		check(t, reason, r, err, "8 1/1")
	}
	for _, reason := range []string{
		"JobHeldUser", "JobHeldAdmin", "JobHoldMaxRequeue", "JobLaunchFailure", "launch failed requeued held", "Dependency",
		"DependencyNeverSatisfied", "BeginTime", "Reservation", "ReservationDeleted", "JobArrayTaskLimit", "Licenses", "BadConstraints",
		"AssocGrpGRES", "AssocGrpCPUMinutesLimit", "AssocMaxJobsLimit", "QOSMaxGRESPerUser", "QOSGrpGRESMinutes", "MaxGRESPerAccount",
		"PartitionDown", "PartitionInactive", "PartitionTimeLimit", "InvalidQOS", "DeadLine", "ReqNodeNotAvail", "AReasonOfTomorrow",
	} {
		job := slurmJobOf(8, "PENDING", asks(1, 1, "")+fmt.Sprintf(`,"state_reason":%q`, reason))
		r, err := readSlurm(nodes, slurmList("jobs", job))
		check(t, reason, r, err, "", "holds back ("+reason+"), left out: 1, for example 8")
	}
	for _, c := range []struct{ more, want, note string }{
		{`,"state_reason":"ReqNodeNotAvail, UnavailableNodes:n[1-2]"`, "", "holds back (ReqNodeNotAvail), left out"},
		{`,"state_reason":"Priority","priority":{"set":true,"infinite":false,"number":0}`, "", "(priority 0), left out"},
		{`,"priority":0`, "", "(priority 0), left out"},
		{`,"priority":{"set":false,"infinite":false,"number":0}`, "8 1/1", ""},
		{`,"priority":null`, "8 1/1", ""},
		{`,"priority":5`, "8 1/1", ""},
		{`,"job_resources":{},"batch_host":""`, "8 1/1", ""},
		{`,"hold":true`, "", "(held), left out"},
		{`,"hold":false`, "8 1/1", ""},
		{`,"resv_name":"course"`, "8 1/1", "of a reservation, which is not kept: 1, for example 8"},
		{`,"state_reason":"JobArrayTaskLimit","array_task_string":"3-9%2"`, "", "(JobArrayTaskLimit), left out: 7, for example 8_3"},
	} {
		r, err := readSlurm(nodes, slurmList("jobs", slurmJobOf(8, "PENDING", asks(1, 1, "")+c.more)))
		var notes []string
		if c.note != "" {
			notes = append(notes, c.note)
		}
		check(t, c.more, r, err, c.want, notes...)
	}
	for _, state := range []string{`["REQUEUE_HOLD","PENDING"]`, `["SPECIAL_EXIT","PENDING"]`, `"PENDING+RESV_DEL_HOLD"`, `"requeue_hold"`} {
		job := strings.Replace(slurmJobOf(8, "X", asks(1, 1, "")), `["X"]`, state, 1)
		r, err := readSlurm(nodes, slurmList("jobs", job))
		check(t, state, r, err, "", "Slurm holds back (", "left out: 1, for example 8")
	}
}

func TestPartitionsThatAreDown(t *testing.T) {
	nodes := strings.Replace(slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`)), `"errors":[]`,
		`"partitions":[{"name":"a","partition":{"state":["DOWN"]}},{"name":"b","state":"INACTIVE"},{"name":"c","partition":{"state":"UP"}},
{"name":"d","partition":{"state":["DRAIN"]}},{"partition":null}]`, 1)
	in := func(id int, partitions string) string {
		return strings.Replace(slurmJobOf(id, "PENDING", asks(1, 1, "")), `"partition":"p"`, `"partition":`+partitions, 1)
	}
	r, err := readSlurm(nodes, slurmList("jobs", in(1, `"a"`), in(2, `"b,a"`), in(3, `"a,c"`), in(4, `["d"]`), in(5, `"c"`)))
	check(t, "partitions", r, err, "3 1/1; 4 1/1; 5 1/1", "(partition a is DOWN), left out: 1, for example 1",
		"(partition b is INACTIVE), left out: 1, for example 2")
}

// TestExpectedStarts checks that the start that Slurm expects of a waiting job is not taken for one in the future.
func TestExpectedStarts(t *testing.T) {
	start := fmt.Sprintf(`"start_time":%d`, now.Unix()-3600)
	job := strings.Replace(slurmJobOf(8, "PENDING", asks(1, 1, "")), start, fmt.Sprintf(`"start_time":%d`, now.Unix()+600), 1)
	r, err := readSlurm(slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`)), slurmList("jobs", job))
	check(t, "expected start", r, err, "8 1/1")
}

func TestJobsThatFitNowhere(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`))
	job := strings.Replace(slurmJobOf(8, "PENDING", asks(1, 1, "")), `"partition":"p"`, `"partition":"q"`, 1)
	r, err := readSlurm(nodes, slurmList("jobs", job, slurmJobOf(9, "PENDING", asks(1, 1, "")+`,"features":"a100"`)))
	check(t, "nowhere", r, err, "8 1/1; 9 1/1", "no node with GPUs has: they do not start in the snapshot: 2, for example 8")
}

func TestDifferentPrioritiesAreTold(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`))
	job := func(id, priority int) string {
		return slurmJobOf(id, "PENDING", asks(1, 1, "")+fmt.Sprintf(`,"priority":%d`, priority))
	}
	r, err := readSlurm(nodes, slurmList("jobs", job(1, 7), job(2, 7)))
	check(t, "equal", r, err, "1 1/1; 2 1/1")
	r, err = readSlurm(nodes, slurmList("jobs", job(1, 7), job(2, 9), job(3, 0)))
	check(t, "different", r, err, "1 1/1; 2 1/1", "different priorities, which a snapshot does not keep: 2, for example 1", "(priority 0)")
}

func TestStatesOfSlurm(t *testing.T) {
	for state, open := range map[string]bool{
		`["IDLE"]`: true, `"IDLE"`: true, `"idle"`: true, `"MIXED+CLOUD"`: true, `["MIXED","PLANNED"]`: true, `"IDLE~"`: true, `"ALLOCATED#"`: true,
		`["IDLE","POWERED_DOWN"]`: true, `"IDLE-"`: true, `["IDLE","DRAIN"]`: false, `"IDLE+DRAIN"`: false, `"DOWN*"`: false, `"IDLE*"`: false,
		`"MIXED$"`: false, `"idle%"`: false, `["DOWN","NOT_RESPONDING"]`: false, `["IDLE","MAINTENANCE"]`: false, `"drained"`: false,
		`["IDLE"],"state_flags":["DRAIN"]`: false, `"IDLE*+DRAIN"`: false,
	} {
		r, err := readSlurm(slurmList("nodes", slurmNodeOf("n1", "gpu:2", state)), slurmList("jobs"))
		check(t, state, r, err, "")
		if err == nil && r.State.Down(0) == open {
			t.Errorf("%s: down %t", state, open)
		}
	}
	r, err := readSlurm(slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE","SINGING"]`)), slurmList("jobs"))
	check(t, "unknown", r, err, "", "state that is not known: they take no new jobs in the snapshot: 1, for example n1 is SINGING")
	if err == nil && !r.State.Down(0) {
		t.Error("a node in an unknown state takes jobs")
	}
	r, err = readSlurm(slurmList("nodes", slurmNodeOf("n1", "gpu:2", `null`)), slurmList("jobs"))
	check(t, "none", r, err, "", "nodes without a state: they are taken to be idle: 1, for example n1")

	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["MIXED"]`))
	for state, want := range map[string]string{
		`"RUNNING"`: "1 1/1@n1:[0]", `"running"`: "1 1/1@n1:[0]", `["RUNNING","CONFIGURING"]`: "1 1/1@n1:[0]", `"RUNNING+POWER_UP_NODE"`: "1 1/1@n1:[0]",
		`"COMPLETED+COMPLETING"`: "1 1/1@n1:[0]", `"CANCELLED by 1001"`: "", `["CANCELLED"]`: "", `"OUT_OF_MEMORY"`: "", `["REVOKED"]`: "",
	} {
		job := strings.Replace(slurmJobOf(1, "X", holds(1, "n1", `"gpu:1(IDX:0)"`)), `["X"]`, state, 1)
		r, err := readSlurm(nodes, slurmList("jobs", job))
		check(t, state, r, err, want)
	}
}

func TestErrorsThatSlurmReports(t *testing.T) {
	jobs := strings.Replace(slurmList("jobs"), `"errors":[]`, `"errors":[{"description":"no slurmctld","error_number":9}]`, 1)
	r, err := readSlurm(slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`)), jobs)
	check(t, "errors", r, err, "", "errors in the input, by which nodes or jobs may be missing from it: 1, for example no slurmctld")
}

func TestBytesThatAreNotUTF8(t *testing.T) {
	nodes := slurmList("nodes", slurmNodeOf("n1", "gpu:2", `["IDLE"]`))
	named := func(id int, name string) string {
		return slurmJobOf(id, "PENDING", asks(1, 1, "")+`,"name":"`+name+`"`)
	}
	r, err := readSlurm(nodes, slurmList("jobs", named(1, "caf\xe9 \xff\xfe"), named(2, "gr\u00f6\u00dfe"), named(3, "\xa0")))
	check(t, "names", r, err, "1 1/1; 2 1/1; 3 1/1", "lines with bytes that are not UTF-8, which are replaced: 2, for example line 2 of squeue.json")
	job := strings.Replace(slurmJobOf(1, "PENDING", asks(1, 1, "")), `"user_name":"u"`, "\"user_name\":\"jos\xe9\"", 1)
	r, err = readSlurm(nodes, slurmList("jobs", job))
	check(t, "a user", r, err, "1 1/1", "not UTF-8, which are replaced: 1")
	if err == nil && r.State.Spec(0).User != "jos\ufffd" {
		t.Errorf("user %q", r.State.Spec(0).User)
	}
}
