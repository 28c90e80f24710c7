package predict

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// codec writes to b, or reads from it: each of its methods does either, so that both follow the same description of the format.
// After the first error it reads zero values. Writing changes nothing, so that several may write one predictor.
type codec struct {
	b     []byte
	reads bool
	err   error
}

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
		c.b = nil
	}
}

// take returns the next n bytes, to read or to fill; nil if there are fewer.
func (c *codec) take(n int) []byte {
	switch {
	case !c.reads:
		c.b = append(c.b, make([]byte, n)...)
		return c.b[len(c.b)-n:]
	case c.err != nil || len(c.b) < n:
		c.fail("it ends too early")
		return nil
	}
	b := c.b[:n]
	c.b = c.b[n:]
	return b
}

func (c *codec) uint32(x *uint32) {
	switch b := c.take(4); {
	case !c.reads:
		binary.LittleEndian.PutUint32(b, *x)
	case b == nil:
		*x = 0
	default:
		*x = binary.LittleEndian.Uint32(b)
	}
}

func (c *codec) uint64(x *uint64) {
	switch b := c.take(8); {
	case !c.reads:
		binary.LittleEndian.PutUint64(b, *x)
	case b == nil:
		*x = 0
	default:
		*x = binary.LittleEndian.Uint64(b)
	}
}

// size returns the length of a list whose elements take at least the parameter each bytes; n is that of the one to write.
func (c *codec) size(what string, n, each int) int {
	x := uint32(n)
	c.uint32(&x)
	if c.reads && int64(x)*int64(each) > int64(len(c.b)) {
		c.fail("%d %s in %d bytes", x, what, len(c.b))
		return 0
	}
	return int(x)
}

func (c *codec) text(what string, s *string) {
	b := c.take(c.size(what, len(*s), 1))
	if c.reads {
		*s = string(b)
	} else {
		copy(b, *s)
	}
}

func (c *codec) int64(what string, x *int64, from, to int64) {
	u := uint64(*x)
	if c.uint64(&u); !c.reads {
		return
	}
	if *x = int64(u); c.err == nil && (*x < from || *x > to) {
		c.fail("%s %d, want %d to %d", what, *x, from, to)
	}
}

func (c *codec) int(what string, x *int, from, to int64) {
	y := int64(*x)
	if c.int64(what, &y, from, to); c.reads {
		*x = int(y)
	}
}

func (c *codec) float(what string, x *float64, from, to float64) {
	u := math.Float64bits(*x)
	if c.uint64(&u); !c.reads {
		return
	}
	if *x = math.Float64frombits(u); c.err == nil && !(*x >= from && *x <= to) {
		c.fail("%s %v, want %v to %v", what, *x, from, to)
	}
}

// table describes a map whose keys ascend in the file. An entry that value finds empty is an error.
func table[K comparable, V any](
	c *codec, what, one string, m map[K]V, compare func(a, b K) int, key func(*K), value func(v *V) (empty bool),
) {
	keys := slices.SortedFunc(maps.Keys(m), compare)
	var last K
	for i := range c.size(what, len(m), 8) {
		var k K
		var v V
		if !c.reads {
			k, v = keys[i], m[keys[i]]
		}
		key(&k)
		empty := value(&v)
		switch {
		case !c.reads:
			continue
		case c.err != nil:
			return
		case i > 0 && compare(last, k) >= 0 || empty:
			c.fail("%s %d is out of order or empty", one, i)
			return
		}
		m[k], last = v, k
	}
}
