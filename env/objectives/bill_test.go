package objectives

import (
	"strconv"
	"testing"
)

// TestManyTenantsAreOne checks that a bill names the tenants that cost most.
func TestManyTenantsAreOne(t *testing.T) {
	var all []Share
	for i := range 40 {
		all = append(all, Share{Of: strconv.Itoa(i), Jobs: 1, Cost: float64(i)})
	}
	list := mostOf(all)
	if n := len(list); n != mostTenants || list[0].Cost != 39 || list[n-1] != (Share{Of: "others", Jobs: 9, Cost: 36}) {
		t.Errorf("%d tenants, from %+v to %+v", n, list[0], list[n-1])
	}
}
