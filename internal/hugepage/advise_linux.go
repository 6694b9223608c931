package hugepage

import "syscall"

// madvHugePage is MADV_HUGEPAGE of madvise(2), which package syscall has for some
// architectures only.
const madvHugePage = 14

// advise asks for huge pages. Without them all is as it was, so that an error is none.
func advise(b []byte) { _ = syscall.Madvise(b, madvHugePage) }
