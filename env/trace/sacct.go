package trace

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/clustergym/clustergym/env/cluster"
	"github.com/clustergym/clustergym/internal/names"
	"github.com/clustergym/clustergym/internal/slurmtext"
)

// Sacct is what Slurm's accounting prints; see sacctCommand.
const Sacct Format = "sacct"

// sacctCommand prints all that a trace needs: the allocations of all users, with a header.
const sacctCommand = "sacct -a -X -P -S 2026-01-01 -E now -o " +
	"JobID,User,Account,State,Submit,Start,End,ElapsedRaw,AllocTRES,ReqTRES"

func sacctLayout() layout {
	s := sacct{runs: map[string][]uint64{}}
	return layout{
		format: Sacct, submit: "Submit", loose: true, parse: s.parse,
		required: []string{"JobID", "State", "Submit"},
		optional: []string{"User", "Account", "Start", "End", "ElapsedRaw", "Elapsed", "AllocTRES", "ReqTRES"},
	}
}

// Why rows of sacct are no jobs, in addition to the reasons of all formats.
const (
	isStep      verdict = "are steps of jobs"
	isHeader    verdict = "repeat the header"
	isElsewhere verdict = "are copies of jobs that ran in another cluster"
	sharesAGPU  verdict = "hold shards or MPS, of which it is not known how much of a GPU they are,"
)

// What is taken for granted of rows that are jobs.
const (
	fromReqTRES  verdict = "hold no GPU in AllocTRES, and count with those that they asked for in ReqTRES"
	anyType      verdict = "name the type of the GPUs that they got and none that they asked for: they may run on any type"
	isDivided    verdict = "hold instances of divided GPUs (MIG), each of which counts as a GPU"
	isComponent  verdict = "are components of heterogeneous jobs, and count as jobs of their own"
	isAnotherRun verdict = "are further runs of requeued jobs, and count as jobs of their own"
)

// sacct remembers the runs of jobs: with sacct -D a job has a row for each time that it was started.
type sacct struct{ runs map[string][]uint64 }

// parse reads an allocation. Each worker gets an equal part of its CPU and memory, rounded down. The duration is ElapsedRaw, else
// Elapsed, which both leave out suspension, else the time from Start to End. The account becomes the tenant.
func (s *sacct) parse(r *Reader, row *row) (Job, verdict, error) {
	has := func(columns ...string) bool {
		return !slices.ContainsFunc(columns, func(c string) bool { return !slices.Contains(row.header, c) })
	}
	if !has("AllocTRES") && !has("ReqTRES") || !has("ElapsedRaw") && !has("Elapsed") && !has("Start", "End") {
		return Job{}, "", fatalError{fmt.Errorf("the header lacks AllocTRES or ReqTRES, or a duration (ElapsedRaw, Elapsed, or Start "+
			"and End): want what this prints: %s (or name the columns of another file with --columns)", sacctCommand)}
	}
	var j Job
	j.Name = row.id("JobID")
	if j.Name == "JobID" {
		return j, isHeader, nil
	}
	if !sacctRow.MatchString(j.Name) {
		row.bad("JobID", j.Name, "a job of Slurm, such as 100, 101_3, 101_[4-9] or 102+0")
		return j, "", row.err
	}
	if strings.Contains(j.Name, ".") {
		return j, isStep, nil
	}
	state, v := sacctState(row.get("State"))
	if state == Unknown && v == isJob {
		row.bad("State", row.get("State"), "a state of Slurm, such as COMPLETED, FAILED or CANCELLED by 1001")
	}
	if j.Status = state; v != isJob {
		return j, v, nil
	}
	if has("Start") && isMissing(row.get("Start")) {
		return j, isNeverScheduled, nil
	}
	v, notes := sacctAmounts(row, &j)
	if v != isJob {
		return j, v, nil
	}
	var known bool
	if j.Submit, known = r.instant(row, "Submit"); !known && row.err == nil {
		return j, hasNoSubmit, nil
	}
	if j.Work, known = sacctElapsed(r, row); !known && row.err == nil {
		return j, hasNoDuration, nil
	}
	if j.Work == 0 {
		return j, ranForNoTime, nil
	}
	j.User, j.Tenant = row.text("User"), row.text("Account")
	if row.err != nil {
		return j, "", row.err
	}
	if strings.Contains(j.Name, "+") {
		notes = append(notes, isComponent)
	}
	again := s.again(row, &j)
	if again == isRepeated {
		return j, isRepeated, nil
	}
	for _, note := range append(notes, again) {
		if note != isJob {
			r.note(string(note), 1)
		}
	}
	return j, isJob, nil
}

// again names the further runs of a job, and reports them, and runs that stand in the file twice, as in files that overlap.
func (s *sacct) again(row *row, j *Job) verdict {
	run := hashOf([]string{row.get("Submit"), row.get("Start"), row.get("End")})
	earlier := s.runs[j.Name]
	switch {
	case slices.Contains(earlier, run):
		return isRepeated
	case len(earlier) == 0:
		s.runs[strings.Clone(j.Name)] = []uint64{run}
		return isJob
	}
	s.runs[j.Name] = append(earlier, run)
	j.Name = fmt.Sprintf("%s#%d", j.Name, len(earlier)+1)
	return isAnotherRun
}

// sacctState returns how a job ended, or why it is no job.
func sacctState(s string) (Status, verdict) {
	word, _, _ := strings.Cut(strings.ToUpper(s), " ") // CANCELLED by 1001
	switch word {
	case "COMPLETED":
		return Passed, isJob
	case "FAILED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "BOOT_FAIL", "DEADLINE", "LAUNCH_FAILED", "RECONFIG_FAIL":
		return Failed, isJob
	case "CANCELLED", "PREEMPTED", "REQUEUED":
		return Killed, isJob
	case "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "RESIZING", "STOPPED", "SIGNALING", "STAGE_OUT":
		return Unknown, isUnended
	case "PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD":
		return Unknown, isNeverScheduled
	case "REVOKED":
		return Unknown, isElsewhere
	}
	return Unknown, isJob
}

// sacctAmounts reads what the job held, or else what it asked for. It returns why it is no job, and what was taken for granted.
func sacctAmounts(row *row, j *Job) (v verdict, notes []verdict) {
	amounts := func(column string) slurmtext.Amounts {
		a, err := slurmtext.Parse(row.get(column), math.MaxInt16)
		if err != nil {
			row.bad(column, row.get(column), err.Error())
		}
		return a
	}
	held, asked := amounts("AllocTRES"), amounts("ReqTRES")
	gpus, kind, _ := held.GPUs()
	askedGPUs, askedKind, _ := asked.GPUs()
	switch {
	case gpus == 0 && askedGPUs > 0:
		notes = append(notes, fromReqTRES)
		gpus, held = askedGPUs, asked
	case row.err != nil:
		return isJob, nil
	case gpus == 0 && len(held.Shares()) > 0:
		return sharesAGPU, nil
	case gpus == 0:
		return isCPUOnly, nil
	case kind != "" && askedKind == "":
		notes = append(notes, anyType)
	}
	if slurmtext.Divided(kind) || slurmtext.Divided(askedKind) {
		notes = append(notes, isDivided)
	}
	if gpus > maxWorkers {
		row.bad("AllocTRES", row.get("AllocTRES"), fmt.Sprintf("at most %d GPUs", maxWorkers))
	}
	if !isTypes(askedKind) || !names.OK(askedKind) {
		row.bad("ReqTRES", row.get("ReqTRES"), "the printable name of a type of GPUs")
	}
	j.Workers, j.GPUType = int32(min(gpus, maxWorkers)), askedKind
	j.Request = cluster.Amount{
		GPUMilli: cluster.WholeGPU,
		CPUMilli: int32(min(held.CPUMilli/gpus, maxMilli)),
		MemMiB:   int32(min(held.MemBytes/gpus>>20, maxMilli)),
	}
	return isJob, notes
}

// sacctElapsed returns for how long the job ran.
func sacctElapsed(r *Reader, row *row) (d time.Duration, known bool) {
	for _, column := range []string{"ElapsedRaw", "Elapsed"} {
		s := row.get(column)
		if isMissing(s) {
			continue
		}
		if strings.Count(s, ":") == 1 { // minutes and seconds
			s = "0:" + s
		}
		d, want := readSpan(s)
		if want != "" {
			row.bad(column, row.get(column), want)
		}
		return d, true
	}
	return r.span(row, "Start", "End")
}

// sacctRow is the id of a job or a step as sacct prints it.
var sacctRow = regexp.MustCompile(`^\d+(_\d+|_\[.*\]|\+\d+)?(\.\w+)?$`)

// errSacct returns an error about the header of a file that seems to come from sacct but cannot be read, or nil.
func errSacct(h *header) error {
	count := func(names ...string) (n int) {
		for _, name := range names {
			if slices.Contains(h.names, name) {
				n++
			}
		}
		return n
	}
	telling := count("JobIDRaw", "AllocTRES", "ReqTRES", "ElapsedRaw", "AllocCPUS", "ExitCode") // of no other program
	usual := count("JobID", "JobName", "Partition", "Account", "State", "Submit", "Start", "End", "Elapsed")
	isState := func(name string) bool { status, v := sacctState(name); return status != Unknown || v != isJob }
	aligned := strings.Fields(h.names[0])
	switch {
	case len(h.names) == 1 && len(aligned) > 2 && aligned[0] == "JobID":
		return errors.New("this is what sacct prints without -P: want what this prints: " + sacctCommand)
	case telling > 0 && telling+usual > 2:
		lacks := slices.DeleteFunc([]string{"JobID", "State", "Submit"}, func(name string) bool { return h.find(name) >= 0 })
		return fmt.Errorf("header %q of sacct lacks %s: want what this prints: %s", h, strings.Join(lacks, ", "), sacctCommand)
	case len(h.names) > 2 && sacctRow.MatchString(h.names[0]) && slices.ContainsFunc(h.names, isState):
		return errors.New("this is what sacct prints without a header: leave out -n (--noheader), as in " + sacctCommand)
	}
	return nil
}
