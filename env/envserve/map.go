package envserve

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Map makes the file behind a descriptor size bytes long and maps it. Another process that maps the same file shares the bytes.
// They stay mapped until the process ends.
func Map(fd, size int) ([]byte, error) {
	if err := unix.Ftruncate(fd, int64(size)); err != nil {
		return nil, fmt.Errorf("share memory: make descriptor %d %d bytes long: %w", fd, size, err)
	}
	memory, err := unix.Mmap(fd, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("share memory: map %d bytes of descriptor %d: %w", size, fd, err)
	}
	return memory, nil
}
