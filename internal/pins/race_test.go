//go:build race

package pins

func init() { slow = true }
