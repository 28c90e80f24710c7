package trace

import (
	"slices"
	"strings"
)

// usual are names, as fold returns them, that files of others give to the columns of the native format, the likeliest first.
// Those of spanEnd and spanStart are for a duration that no column holds.
var usual = map[string][]string{
	"job_id": {"jobid", "id", "job", "jobname", "name", "uid", "uuid", "jobnumber", "jobuid"},
	"num_gpu": {"numgpus", "numgpu", "gpus", "gpu", "gpunum", "gpusnum", "ngpus", "ngpu", "gpucount", "allocgpus", "allocatedgpus",
		"reqgpus", "requestedgpus", "gpurequest", "gpurequests", "gpusrequested", "totalgpus", "numberofgpus"},
	"submit_time": {"submittime", "submit", "submitted", "submittedat", "submitat", "submittedtime", "submissiontime",
		"submittimestamp", "timestamp", "arrivaltime", "arrival", "createdat", "created", "createtime", "creationtime",
		"creationtimestamp", "queuedat", "enqueuetime", "time"},
	"duration": {"duration", "runtime", "elapsed", "elapsedtime", "elapsedraw", "walltime", "durations", "durationsec",
		"durationseconds", "runtimeseconds", "runseconds", "seconds", "length", "servicetime", "executiontime", "run"},
	spanEnd: {"endtime", "end", "ended", "endedat", "finishtime", "finish", "finished", "finishedat", "completiontime",
		"completedat", "stoptime", "stop", "deletiontime", "endtimestamp"},
	spanStart:  {"starttime", "start", "started", "startedat", "begintime", "begin", "scheduledtime", "starttimestamp"},
	"user":     {"user", "username", "userid", "owner", "submittedby"},
	"tenant":   {"tenant", "account", "project", "vc", "virtualcluster", "team", "organization", "namespace", "department"},
	"status":   {"status", "state", "jobstate", "jobstatus", "finalstatus", "result", "phase"},
	"deadline": {"deadline", "due", "duedate", "duetime", "dueat", "deadlineat", "finishby"},
	"priority": {"priority", "prio", "jobpriority"},
	"gpu_type": {"gputype", "gpumodel", "gputypes", "gpuspec", "accelerator", "acceleratortype"},
}

// likely returns the column that is called by the likeliest of the usual names, "" if there is none.
func likely(h *header, name string) string {
	for _, folded := range usual[name] {
		if at, ok := h.folded[folded]; ok && at >= 0 {
			return h.names[at]
		}
	}
	return ""
}

// guess returns an entry of Columns for a column of the native format, "" if no column of the file looks like it.
func guess(h *header, name string) string {
	if own := likely(h, name); own != "" {
		return name + "=" + own
	}
	end, start := likely(h, spanEnd), likely(h, spanStart)
	if name != "duration" || end == "" || start == "" {
		return ""
	}
	return name + "=" + end + "-" + start
}

// propose returns entries of Columns for a file in no known format, and a sentence about what no column looks like. They are for
// people to check: no file is read by them unless the caller says so.
func propose(h *header) (entries []string, lacks string) {
	var missing, add []string
	for _, name := range []string{"job_id", "num_gpu", "submit_time", "duration", "user", "tenant", "status", "gpu_type", "deadline",
		"priority"} {
		entry := guess(h, name)
		switch {
		case h.find(name) >= 0: // read without an entry
		case entry != "":
			entries = append(entries, entry)
		case slices.Contains(layouts()[0].required, name):
			missing, add = append(missing, name), append(add, name+"=COLUMN")
		}
	}
	if len(missing) == 0 || len(entries) == 0 {
		return entries, ""
	}
	lacks = " No column looks like " + strings.Join(missing, ", ") + ": add " + strings.Join(add, ", ")
	if slices.Contains(missing, "duration") {
		lacks += " or duration=END-START"
	}
	return entries, lacks
}

// shellQuoted returns text as a shell takes it for one word.
func shellQuoted(s string) string {
	if !strings.ContainsAny(s, " \t'\"\\$&;|<>()*?[]#~`!{}") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
