package main

import (
	"syscall"
	"time"
)

// cpuTime is the CPU time, user and system, that the process has used.
func cpuTime() time.Duration {
	self, err := syscall.GetCurrentProcess()
	if err != nil {
		return 0
	}
	var created, exited, kernel, user syscall.Filetime
	if err := syscall.GetProcessTimes(self, &created, &exited, &kernel, &user); err != nil {
		return 0
	}
	return filetime(kernel) + filetime(user)
}

// filetime is a span of time in units of 100 ns.
func filetime(t syscall.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
}
