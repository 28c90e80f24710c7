package cluster

import (
	"errors"
	"fmt"
	"testing"

	"github.com/clustergym/clustergym/internal/must"
)

var (
	wholeGPU = Amount{GPUMilli: WholeGPU}
	halfGPU  = Amount{GPUMilli: WholeGPU / 2}
)

// needs returns the amount a with GPU memory.
func needs(a Amount, gpuMemMiB int32) Amount {
	a.GPUMemMiB = gpuMemMiB
	return a
}

// of returns a cluster of these servers, named by their index, without modelled CPU and memory.
func of(servers ...ServerSpec) Spec {
	for i := range servers {
		servers[i].Name, servers[i].CPUMilli, servers[i].MemMiB = fmt.Sprintf("s%d", i), Unlimited, Unlimited
	}
	return Spec{Servers: servers}
}

// with returns a state in which the jobs, named by their index, wait.
func with(t *testing.T, spec Spec, jobs ...JobSpec) *State {
	t.Helper()
	s := must.Get(NewState(spec, len(jobs)))(t)
	for i := range jobs {
		jobs[i].Name = fmt.Sprintf("j%d", i)
		must.Do(t, jobs[i].Validate())
		s.Submit(JobID(i), &jobs[i])
	}
	return s
}

// place places a job and ends the transaction.
func place(t *testing.T, s *State, id JobID, p Placement) {
	t.Helper()
	tx := s.Begin(nil)
	must.Do(t, tx.Place(id, p))
	tx.End()
}

// trial is an attempt to place a job, and the expected error, "" for none.
type trial struct {
	job  JobID
	on   Placement
	want string
}

func TestSharingRules(t *testing.T) {
	a100, v100 := ServerSpec{GPUs: 2, GPUType: "A100"}, ServerSpec{GPUs: 2, GPUType: "V100"}
	unknown, big := ServerSpec{GPUs: 2}, ServerSpec{GPUs: 2, GPUMemMiB: 16}
	four := ServerSpec{GPUs: 4}
	perGPU := func(n int32, spec Spec) Spec { spec.PerGPU = n; return spec }
	quota := func(spec Spec, q ...Quota) Spec { spec.Quotas = q; return spec }
	gang := func(n int32) JobSpec { return JobSpec{Workers: n, Request: wholeGPU} }
	typed := func(n int32, types string) JobSpec { return JobSpec{Workers: n, Request: wholeGPU, GPUType: types} }
	mixed := func(n int32, types string) JobSpec {
		return JobSpec{Workers: n, Request: wholeGPU, GPUType: types, Mixed: true}
	}
	tensor := func(n, group int32) JobSpec { return JobSpec{Workers: n, Request: wholeGPU, Tensor: group} }
	bought := func(n int32, tenant string) JobSpec { return JobSpec{Workers: n, Request: wholeGPU, Tenant: tenant} }
	share := JobSpec{Workers: 1, Request: Amount{GPUMilli: 250}}
	heavy := JobSpec{Workers: 1, Request: needs(halfGPU, 10)}
	on := func(server ServerID, workers int32, a Amount) Piece { return Piece{server, workers, a} }
	for _, c := range []struct {
		name   string
		spec   Spec
		jobs   []JobSpec
		trials []trial
	}{
		{"a job that names a type runs on that type only", of(a100, v100), []JobSpec{typed(1, "V100")}, []trial{
			{0, Placement{on(0, 1, wholeGPU)}, "place job 0: server 0 takes 0 of its workers, want 1: infeasible"},
			{0, Placement{on(1, 1, wholeGPU)}, ""},
		}},
		{"of several types that will do each does", of(a100, v100), []JobSpec{typed(1, "T4|V100|A100"), typed(1, "T4|V100|A100")}, []trial{
			{0, Placement{on(0, 1, wholeGPU)}, ""}, {1, Placement{on(1, 1, wholeGPU)}, ""},
		}},
		{"the beginning of a type's name is another type", of(a100), []JobSpec{typed(1, "A10|100|A")}, []trial{
			{0, Placement{on(0, 1, wholeGPU)}, "place job 0: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"a server of unknown type takes a job that names one", of(unknown), []JobSpec{typed(1, "V100")}, []trial{
			{0, Placement{on(0, 1, wholeGPU)}, ""},
		}},
		{"a gang holds one type", of(a100, v100, a100), []JobSpec{gang(3)}, []trial{
			{0, Placement{on(0, 2, wholeGPU), on(1, 1, wholeGPU)},
				"place job 0: GPUs of several types up to server 1 (V100), want one type: infeasible"},
			{0, Placement{on(0, 2, wholeGPU), on(2, 1, wholeGPU)}, ""},
		}},
		{"an unknown type is a type", of(a100, unknown), []JobSpec{gang(2)}, []trial{
			{0, Placement{on(0, 1, wholeGPU), on(1, 1, wholeGPU)},
				"place job 0: GPUs of several types up to server 1 (), want one type: infeasible"},
		}},
		{"a mixed gang holds several", of(a100, v100), []JobSpec{mixed(3, "")}, []trial{
			{0, Placement{on(0, 2, wholeGPU), on(1, 1, wholeGPU)}, ""},
		}},
		{"a mixed gang holds those that it names", of(a100, v100), []JobSpec{mixed(3, "A100|T4")}, []trial{
			{0, Placement{on(0, 2, wholeGPU), on(1, 1, wholeGPU)}, "place job 0: server 1 takes 0 of its workers, want 1: infeasible"},
		}},
		{"a whole GPU takes no more than its memory", of(big), []JobSpec{{Workers: 1, Request: needs(wholeGPU, 17)}}, []trial{
			{0, Placement{on(0, 1, needs(wholeGPU, 17))}, "place job 0: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"and all of its memory", of(big), []JobSpec{{Workers: 2, Request: needs(wholeGPU, 16)}}, []trial{
			{0, Placement{on(0, 2, needs(wholeGPU, 16))}, ""},
		}},
		{"memory that is not modelled limits nobody", of(unknown), []JobSpec{{Workers: 1, Request: needs(wholeGPU, 1<<30)}}, []trial{
			{0, Placement{on(0, 1, needs(wholeGPU, 1<<30))}, ""},
		}},
		{"two halves of a GPU do not get twice its memory", of(ServerSpec{GPUs: 1, GPUMemMiB: 16}), []JobSpec{heavy, heavy}, []trial{
			{0, Placement{on(0, 1, needs(halfGPU, 10))}, ""},
			{1, Placement{on(0, 1, needs(halfGPU, 10))}, "place job 1: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"nor where the sum of the two is beyond 32 bits", of(ServerSpec{GPUs: 1, GPUMemMiB: 1<<31 - 1}), []JobSpec{heavy, heavy}, []trial{
			{0, Placement{on(0, 1, needs(halfGPU, 1<<31-1))}, ""},
			{1, Placement{on(0, 1, needs(halfGPU, 1<<31-1))}, "place job 1: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"the second half goes where there is memory", of(big), []JobSpec{heavy, heavy}, []trial{
			{0, Placement{on(0, 1, needs(halfGPU, 10))}, ""}, {1, Placement{on(0, 1, needs(halfGPU, 10))}, ""},
		}},
		{"a placement may not give less memory on the GPU than the job needs, but more", of(big), []JobSpec{heavy}, []trial{
			{0, Placement{on(0, 1, needs(wholeGPU, 9))}, "place job 0: 9 MiB on the GPU, want the 10 that it needs: infeasible"},
			{0, Placement{on(0, 1, needs(wholeGPU, 11))}, ""},
		}},
		{"as many jobs share a GPU as their shares allow", of(ServerSpec{GPUs: 1}), []JobSpec{share, share, share, share, share}, []trial{
			{0, Placement{on(0, 1, share.Request)}, ""}, {1, Placement{on(0, 1, share.Request)}, ""},
			{2, Placement{on(0, 1, share.Request)}, ""}, {3, Placement{on(0, 1, share.Request)}, ""},
			{4, Placement{on(0, 1, share.Request)}, "place job 4: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"or two at most", perGPU(2, of(ServerSpec{GPUs: 1})), []JobSpec{share, share, share}, []trial{
			{0, Placement{on(0, 1, share.Request)}, ""}, {1, Placement{on(0, 1, share.Request)}, ""},
			{2, Placement{on(0, 1, share.Request)}, "place job 2: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"or nobody", perGPU(1, of(ServerSpec{GPUs: 1})), []JobSpec{share, share}, []trial{
			{0, Placement{on(0, 1, share.Request)}, ""},
			{1, Placement{on(0, 1, share.Request)}, "place job 1: server 0 takes 0 of its workers, want 1: infeasible"},
		}},
		{"a tensor-parallel group stands on one server", of(four, four), []JobSpec{tensor(4, 2)}, []trial{
			{0, Placement{on(0, 3, wholeGPU), on(1, 1, wholeGPU)},
				"place job 0: 3 workers on server 0, want a multiple of 2: infeasible"},
			{0, Placement{on(0, 2, wholeGPU), on(1, 2, wholeGPU)}, ""},
		}},
		{"of three free GPUs two are of use to pairs", of(ServerSpec{GPUs: 3}, four), []JobSpec{tensor(6, 2)}, []trial{
			{0, Placement{on(0, 4, wholeGPU), on(1, 2, wholeGPU)}, "place job 0: server 0 takes 2 of its workers, want 4: infeasible"},
			{0, Placement{on(0, 2, wholeGPU), on(1, 4, wholeGPU)}, ""},
		}},
		{"a tenant gets its quota and no more", quota(of(four), Quota{"t", 3}), []JobSpec{bought(2, "t"), bought(2, "t"), bought(1, "t")},
			[]trial{
				{0, Placement{on(0, 2, wholeGPU)}, ""},
				{1, Placement{on(0, 2, wholeGPU)},
					"place job 1: tenant t has 1000 thousandths of GPUs left, want 2000: infeasible"},
				{2, Placement{on(0, 1, wholeGPU)}, ""},
			}},
		{"whoever else wants it", quota(of(four), Quota{"t", 0}), []JobSpec{bought(1, "t"), bought(2, "u"), bought(2, "")}, []trial{
			{0, Placement{on(0, 1, wholeGPU)}, "place job 0: tenant t has 0 thousandths of GPUs left, want 1000: infeasible"},
			{1, Placement{on(0, 2, wholeGPU)}, ""}, {2, Placement{on(0, 2, wholeGPU)}, ""},
		}},
		{"a quota of jobs that name no tenant holds for them", quota(of(four), Quota{"", 1}), []JobSpec{bought(2, ""), bought(2, "t")},
			[]trial{
				{0, Placement{on(0, 2, wholeGPU)}, "place job 0: tenant  has 1000 thousandths of GPUs left, want 2000: infeasible"},
				{1, Placement{on(0, 2, wholeGPU)}, ""},
			}},
		{"a quota counts shares", quota(of(four), Quota{"t", 1}), []JobSpec{{Workers: 3, Request: halfGPU, Tenant: "t"},
			{Workers: 2, Request: halfGPU, Tenant: "t"}}, []trial{
			{0, Placement{on(0, 3, halfGPU)}, "place job 0: tenant t has 1000 thousandths of GPUs left, want 1500: infeasible"},
			{1, Placement{on(0, 2, halfGPU)}, ""},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := with(t, c.spec, c.jobs...)
			tx := s.Begin(nil)
			for _, do := range c.trials {
				err := tx.Place(do.job, do.on)
				if got := fmt.Sprint(err); err == nil && do.want != "" || err != nil && (got != do.want || !errors.Is(err, ErrInfeasible)) {
					t.Errorf("job %d on %v: error %v, want %q", do.job, do.on, err, do.want)
				}
				conserve(t, s)
			}
			tx.Rollback(0)
			for i := range c.jobs {
				if s.Phase(JobID(i)) != Pending {
					t.Errorf("job %d is %v after a rollback", i, s.Phase(JobID(i)))
				}
			}
			conserve(t, s)
		})
	}
}

// TestMoveWithinQuota checks that a move or a resize counts what the job gives up as free, also within its tenant's quota.
func TestMoveWithinQuota(t *testing.T) {
	spec := of(ServerSpec{GPUs: 4}, ServerSpec{GPUs: 4})
	spec.Quotas = []Quota{{"t", 3}}
	s := with(t, spec, JobSpec{Workers: 2, MinWorkers: 1, MaxWorkers: 4, Request: wholeGPU, Tenant: "t"})
	place(t, s, 0, Placement{{0, 2, wholeGPU}})
	if got := s.Fits(1, 0, wholeGPU); got != 1 {
		t.Errorf("server 1 takes %d more workers, want the 1 of the quota", got)
	}
	tx := s.Begin(nil)
	if err := tx.Migrate(0, Placement{{1, 2, wholeGPU}}); err != nil {
		t.Error(err)
	}
	if err := tx.Resize(0, Placement{{1, 3, wholeGPU}}); err != nil {
		t.Error(err)
	}
	const want = "resize job 0: tenant t has 3000 thousandths of GPUs left, want 4000: infeasible"
	if err := tx.Resize(0, Placement{{1, 4, wholeGPU}}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	if milli, bound := s.QuotaLeft(0); milli != 0 || !bound || s.Quota(0) != 3000 {
		t.Errorf("%d of %d left, want 0 of 3000", milli, s.Quota(0))
	}
	tx.End()
	s.Finish(0)
	if milli, _ := s.QuotaLeft(0); milli != 3000 {
		t.Errorf("%d left after the job, want 3000", milli)
	}
}

// TestShareGoesToFullestGPUWithRoom checks that a share is taken from the fullest GPU that has room for it, for its memory and
// for one more job.
func TestShareGoesToFullestGPUWithRoom(t *testing.T) {
	a := Amount{GPUMilli: 250, GPUMemMiB: 3}
	spec := of(ServerSpec{GPUs: 3, GPUMemMiB: 8})
	spec.PerGPU = 3
	s := with(t, spec, JobSpec{Workers: 1, Request: a}, JobSpec{Workers: 1, Request: a}, JobSpec{Workers: 1, Request: a},
		JobSpec{Workers: 2, Request: Amount{GPUMilli: 100}})
	for id, want := range []int32{0, 0, 1} { // GPU 0 has memory for two of them
		place(t, s, JobID(id), Placement{{0, 1, a}})
		if got := s.GPUs(JobID(id)); got[0] != want {
			t.Errorf("job %d got GPU %d, want %d", id, got[0], want)
		}
	}
	place(t, s, 3, Placement{{0, 2, Amount{GPUMilli: 100}}})
	if got := s.GPUs(3); got[0] != 0 || got[1] != 1 || s.Shared(0) != 2 {
		t.Errorf("job 3 got GPUs %v, %d are shared; want [0 1], 2", got, s.Shared(0))
	}
	conserve(t, s)
}
