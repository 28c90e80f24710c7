//go:build linux && !amd64.v3 && !openblas

package kernel

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/clustergym/clustergym/internal/must"
)

// guarded returns a slice of n numbers whose end is the end of readable memory: a read or write behind it ends the test.
func guarded(t *testing.T, n int) []float32 {
	t.Helper()
	page := syscall.Getpagesize()
	size := (4*n + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	must.Do(t, err)
	t.Cleanup(func() {
		if err := syscall.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	must.Do(t, syscall.Mprotect(mem[size:], syscall.PROT_NONE))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&mem[size-4*n])), n)
}

func TestKernelsStayInsideTheirSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	memory := func(n int) []float32 {
		x := guarded(t, n)
		copy(x, numbers(r, n))
		return x
	}
	for range 200 {
		s := drawProduct(r)
		a, b := s.operands(memory)
		Gemm(Mat(memory(s.m*(s.n+s.more)), s.m, s.n+s.more).Columns(s.more, s.n), s.alpha, a, b, s.beta)
	}
	for cols := 1; cols <= 33; cols++ {
		rows := 1 + r.IntN(5)
		x, y, mask, gain, bias := memory(rows*cols), memory(rows*cols), memory(cols), memory(cols), memory(cols)
		for i := range mask {
			mask[i] = 1
		}
		Softmax(x, mask)
		SoftmaxBack(y, x, cols)
		LayerNorm(y, x, gain, bias)
		LayerNormBack(memory(rows*cols), gain, bias, y, x, mask)
		SumRows(bias, x)
	}
}
