package sim_test

import (
	"math"
	"testing"

	"github.com/clustergym/clustergym/env/physics/profile"
	"github.com/clustergym/clustergym/env/sim"
)

// finishes plays a scenario by a script and returns the seconds at which the jobs finish, by name.
func finishes(t *testing.T, scenario, steps string) map[string]float64 {
	t.Helper()
	cfg, jobs := parseScenario(t, scenario)
	log := play(t, cfg, jobs, parseScript(t, jobs, steps), 1)
	check(t, log)
	at := map[string]float64{}
	for _, r := range log.Records {
		if r.Kind == sim.Finish {
			at[log.Jobs[r.Job].Name] = r.At.Seconds()
		}
	}
	return at
}

// near checks a finish time against a value computed by hand, up to a few nanoseconds of rounding.
func near(t *testing.T, got map[string]float64, job string, want float64) {
	t.Helper()
	if math.Abs(got[job]-want) > 1e-8+1e-12*want {
		t.Errorf("%s finished at %.9f s, want %.9f s", job, got[job], want)
	}
}

// TestCPUAndMemorySlowAJobAsItsModelSays checks that a job with less CPU or memory than it asked for runs at the ratio of its
// model's speeds, that the slowest worker determines the speed of its gang, and that a resize to the requested amounts restores
// full speed.
func TestCPUAndMemorySlowAJobAsItsModelSays(t *testing.T) {
	f := profile.Lookup("resnet18-64")
	asked := f.CPUMem(3, 62.5)
	few := f.CPUMem(1, 62.5) / asked
	little := f.CPUMem(3, 20) / asked
	if few > 0.9 || little > 0.9 {
		t.Fatalf("%v with 1 core, %v with 20 GiB: want a model that minds both", few, little)
	}
	const scenario = `
servers 2x4
physics cpu-mem
job a submit=0s workers=2 work=100s cpu=3000 mem=64000 model=resnet18-64
job b submit=0s workers=2 work=100s cpu=3000 mem=64000 model=resnet18-64
job c submit=0s workers=1 work=100s cpu=3000 mem=64000
job d submit=0s workers=1 work=100s mem=64000 model=resnet18-64
`
	got := finishes(t, scenario, `
0s start a 0:2:0:1000
0s start b 0:1:0:1000 1:1:0:0:20480
0s start c 1:1:0:1000
0s start d 1:1:0:0:20480
60s resize a 0:2:0:3000
`)
	near(t, got, "a", 60+100-60*few)
	near(t, got, "b", 100/min(few, little))
	near(t, got, "c", 100) // unknown model
	near(t, got, "d", 100) // asked for no cores
}

// TestAPartnerComesAndLeaves checks that jobs that share a GPU slow each other down by their models' sensitivities and pressures,
// exactly while they are together and whatever their shares: b arrives at 20 s and gets half of the share that it asked for. The
// slowest worker determines the speed of gang a, so d, which presses equally on the other GPU, makes no difference.
func TestAPartnerComesAndLeaves(t *testing.T) {
	f, g := profile.Lookup("resnet50-64"), profile.Lookup("lm-20")
	sf, pf := f.Vectors("V100")
	sg, pg := g.Vectors("V100")
	for part, strength := range map[string]float64{"sharing(1)": 1, "sharing(0.3)": 0.3} {
		besideG := math.Exp(-strength * (sf[0]*pg[0] + sf[1]*pg[1]))
		besideF := math.Exp(-strength * (sg[0]*pf[0] + sg[1]*pf[1]))
		if besideG > 0.99 || besideF > 0.99 {
			t.Fatalf("%s: %v and %v: want a pair that interferes", part, besideG, besideF)
		}
		got := finishes(t, `
servers 2x1 type=V100
physics `+part+`
job a submit=0s workers=2 work=200s share=400 model=resnet50-64
job b submit=20s workers=1 work=30s share=500 model=lm-20
job c submit=20s workers=1 work=30s share=100
job d submit=20s workers=1 work=30s share=500 model=lm-20
`, `
0s start a 0:1 1:1
20s start b 0:1:250
20s start c 1:1
20s start d 1:1
`)
		gone := 20 + 30/besideF
		near(t, got, "b", gone)
		near(t, got, "d", gone)
		near(t, got, "c", 50) // of unknown model, so it is not slowed and slows nobody
		near(t, got, "a", gone+200-20-(gone-20)*besideG)
	}
}

// TestElasticJobsScaleAsTheirModels checks that a job with more workers than it asked for runs at its model's throughput on the
// fewest servers that hold them.
func TestElasticJobsScaleAsTheirModels(t *testing.T) {
	f := profile.Lookup("resnet50-64")
	two, four, eight := f.Throughput(1, 2), f.Throughput(1, 4), f.Throughput(2, 8)
	if eight/two > 3.9 {
		t.Fatalf("%v from 2 to 8 workers: want a model that scales less than linearly", eight/two)
	}
	got := finishes(t, `
servers 4x4
physics scaling
job a submit=0s workers=2 max=8 work=100s model=resnet50-64
job b submit=0s workers=2 max=8 work=100s
`, `
0s start a 0:2
0s start b 0:2
10s resize a 0:2 1:2
10s resize b 1:2 2:2
20s resize a 0:2 1:2 2:2 3:2
`)
	near(t, got, "a", 20+(100-10-10*four/two)*two/eight)
	near(t, got, "b", 10+90/2.)
}

// TestPartsOfTheCatalogueMultiply checks that two parts multiply: a job that shares a GPU and has too few cores is slowed by
// both, and a job on K80 GPUs scales as on any other type.
func TestPartsOfTheCatalogueMultiply(t *testing.T) {
	f, g := profile.Lookup("resnet18-64"), profile.Lookup("lm-20")
	s, _ := f.Vectors("K80")
	_, p := g.Vectors("K80")
	k80, _ := f.GPUSpeed("K80")
	cores := f.CPUMem(1, 62.5) / f.CPUMem(3, 62.5)
	beside := math.Exp(-0.5 * (s[0]*p[0] + s[1]*p[1]))
	got := finishes(t, `
servers 1x2 type=K80
physics gpu-type * cpu-mem * sharing(0.5) * scaling
job a submit=0s workers=1 max=2 work=50s share=500 cpu=3000 mem=64000 model=resnet18-64
job b submit=10s workers=1 work=100000s share=500 cpu=3000 mem=64000 model=lm-20
`, `
0s start a 0:1:0:1000
10s start b 0:1
30s resize a 0:2
`)
	done := 10*k80*cores + 20*k80*cores*beside
	near(t, got, "a", 30+(50-done)/(k80*beside*f.Throughput(1, 2)/f.Throughput(1, 1)))
}

// TestJitterIsTheJobsOwn checks that jitter changes a speed by at most two standard deviations. The factor is the same whenever a
// job starts on the same number of servers, whichever they are, and differs for another job or another number of servers.
func TestJitterIsTheJobsOwn(t *testing.T) {
	const scenario = `
servers 4x4
physics jitter(0.15)
job a submit=0s workers=4 work=100s
job b submit=0s workers=4 work=100s
`
	one := finishes(t, scenario, "0s start a 0:4\n0s start b 1:4")
	moved := finishes(t, scenario, "0s start a 3:4\n0s start b 0:4\n30s preempt b\n30s start b 2:4")
	for _, job := range []string{"a", "b"} {
		near(t, moved, job, one[job])
		if r := math.Abs(math.Log(one[job] / 100)); r > 0.3+1e-12 || r < 1e-6 {
			t.Errorf("%s took %v s for 100 s of work", job, one[job])
		}
	}
	spread := finishes(t, scenario, "0s start a 0:1 1:1 2:1 3:1\n0s start b 1:3 2:1")
	if one["a"] == one["b"] || spread["a"] == one["a"] || spread["b"] == one["b"] {
		t.Errorf("packed %v, spread %v: want them all to differ", one, spread)
	}
	if again := finishes(t, scenario, "0s start a 0:4\n0s start b 1:4"); again["a"] != one["a"] {
		t.Errorf("once %v, then %v", one["a"], again["a"])
	}
}
