package kubetest

import "syscall"

// diesWithParent has the kernel kill a child with the test, also where that is killed itself or runs out of time.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
