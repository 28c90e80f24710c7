package objectives

import (
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	o, err := Read(strings.NewReader(`
name: mine
about: short waits
unit: minutes
terms:
  - {cost: wait, first: true, over: 10m, price: 1/min, jobs: {gpus: [1, 4-8], tenants: ada, run_time: -1h}}
  - {cost: late, deadline: {run_times: 2, plus: 30m}, price: 1/h, miss: 2, power: 2}
  - {cost: gpu_time, price: 0.1/h, prices: {7: 2, 22: 0.5}}
  - {cost: stop, price: 30, jobs: {elastic: false, gpus: 8-}}
`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `mine: short waits, in minutes

1. 1/min wait, until the job has run for 1m, beyond 10m; jobs with GPUs 1 or 4 to 8, run time up to 1h, tenant ada
   ▁▁▁▁▁▁▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▅▅▅▅▅▅▆▆▆▆▆▆▆▇▇▇▇▇▇████  0 to 230 in 4h of waiting

2. 1/h late, to the power of 2, after 2 run times and 30m from submission, and 2 once when it passes
   ▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▃▃▃▃▃▃▃▃▃▄▄▄▄▄▅▅▅▆▆▆▇▇██  0 to 8.25 in 5h after submission

3. 0.1/h gpu_time, from 07:00 x2, from 22:00 x0.5
   ▃▃▃▃▃▃▃▃▃▃▃▃▃▃██████████████████████████████▃▃▃▃  price over a day

4. 30 stop; jobs with GPUs from 8, a fixed number of workers
`
	if got := o.Describe(); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
