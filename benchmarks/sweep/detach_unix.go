//go:build unix && !linux

package sweep

import (
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C, which a terminal sends to all processes of a group, from a
// job: the sweep decides what becomes of it.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
