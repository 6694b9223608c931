package hugepage

import "syscall"

// madvHugePage is MADV_HUGEPAGE of madvise(2), which package syscall has for some
// architectures only.
const madvHugePage = 14

// madvCollapse is MADV_COLLAPSE: to make huge pages of small ones at once, since Linux 6.1.
const madvCollapse = 25

// advise asks for huge pages. Without them all is as it was, so that an error is none.
func advise(b []byte) { _ = syscall.Madvise(b, madvHugePage) }

// collapse makes a huge page of small ones, from an address on.
func collapse(at uintptr) {
	for _, advice := range []uintptr{madvHugePage, madvCollapse} {
		_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, huge, advice)
	}
}
