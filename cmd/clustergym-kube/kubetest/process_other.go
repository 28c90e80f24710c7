//go:build !linux

package kubetest

import "syscall"

// diesWithParent asks for nothing where the kernel cannot do it: a killed test leaves its children behind.
func diesWithParent() *syscall.SysProcAttr { return nil }
