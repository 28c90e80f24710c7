package elastic

import "testing"

func TestGandiva(t *testing.T) {
	plain := NewGandiva(DefaultGandiva())
	grown := asked{base: 2, most: 8, now: 6}
	tell(t, []story{
		{name: "a job takes the GPUs that are free", policy: plain, gpus: 8,
			jobs: []asked{{base: 2, most: 6, now: 2}}, want: []int32{6}},
		{name: "the first job takes all that it can", policy: plain, gpus: 8,
			jobs: []asked{{base: 2, most: 6, now: 2}, {base: 1, most: 4, now: 1}}, want: []int32{6, 2}},
		{name: "or jobs take in turns", policy: NewGandiva(GandivaConfig{Even: true}), gpus: 8,
			jobs: []asked{{base: 2, most: 6, now: 2}, {base: 1, most: 4, now: 1}}, want: []int32{5, 3}},
		{name: "a job that starts grows at once where nobody waits", policy: plain, gpus: 8,
			jobs: []asked{{base: 2, most: 6}, {base: 3, most: 3}}, want: []int32{5, 3}},
		{name: "a job shrinks by what a waiting one needs", policy: plain, gpus: 8,
			jobs: []asked{grown, {base: 4, most: 4}}, want: []int32{4, 4}},
		{name: "or not at all, and then it does not grow either", policy: NewGandiva(GandivaConfig{}), gpus: 8,
			jobs: []asked{grown, {base: 4, most: 4}}, want: []int32{6, 0}},
		{name: "it does not shrink for one that cannot start all the same, which blocks", policy: plain, gpus: 8,
			jobs: []asked{grown, {base: 7, most: 7}, {base: 1, most: 1}}, want: []int32{6, 0, 0}},
		{name: "or is passed over", policy: NewGandiva(GandivaConfig{Shrink: true, Skip: true}), gpus: 8,
			jobs: []asked{grown, {base: 7, most: 7}, {base: 1, most: 1}}, want: []int32{6, 0, 1}},
		{name: "a job larger than the cluster blocks nobody", policy: plain, gpus: 8,
			jobs: []asked{{base: 9, most: 9}, {base: 1, most: 3}}, want: []int32{0, 1}},
		{name: "nor does one that its tenant's quota keeps out", policy: plain, gpus: 8, quota: 1,
			jobs: []asked{{base: 2, most: 2, tenant: "a"}, {base: 1, most: 3}}, want: []int32{0, 1}},
		{name: "a quota bounds growth", policy: plain, gpus: 8, quota: 3,
			jobs: []asked{{base: 1, most: 8, now: 1, tenant: "a"}, {base: 1, most: 8, now: 1}}, want: []int32{3, 5}},
		{name: "inelastic jobs that run keep what they hold", policy: plain, gpus: 8,
			jobs: []asked{{base: 5, most: 5, now: 5}, {base: 1, most: 8, now: 1}}, want: []int32{3}},
	})
}
