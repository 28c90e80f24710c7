package kubetest

import "syscall"

// diesWithParent makes the kernel kill a child process when the test ends, even if the test is killed or times out.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
