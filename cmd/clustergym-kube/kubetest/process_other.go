//go:build !linux

package kubetest

import "syscall"

// diesWithParent returns nil where the kernel cannot kill the children of a killed test: they stay behind.
func diesWithParent() *syscall.SysProcAttr { return nil }
