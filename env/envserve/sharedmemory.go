package envserve

import (
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Take returns the content of the file behind a descriptor and empties the file.
func Take(fd int) ([]byte, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("share memory: read descriptor %d: %w", fd, err)
	}
	if stat.Size > MaxBytes {
		return nil, fmt.Errorf("share memory: descriptor %d has %d bytes, want at most %d", fd, stat.Size, MaxBytes)
	}
	content := make([]byte, stat.Size)
	for read := 0; read < len(content); {
		n, err := unix.Pread(fd, content[read:], int64(read))
		if n == 0 && err == nil {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, fmt.Errorf("share memory: read descriptor %d: %w", fd, err)
		}
		read += n
	}
	if err := unix.Ftruncate(fd, 0); err != nil {
		return nil, fmt.Errorf("share memory: empty descriptor %d: %w", fd, err)
	}
	return content, nil
}

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
