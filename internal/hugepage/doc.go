// Package hugepage hands out memory for tables that a program looks up at random and that
// are larger than what the TLB of the host reaches with small pages: arrays of caches,
// directories, contents of memory.
//
// A [Slab] puts the tables of a model next to each other, and asks the operating system to
// back them by huge pages, where it has such a call. It is no allocator: what it handed out
// is free when all of its chunk is. [Back] asks the same for tables with pointers, which lie
// in the heap. Neither changes a result.
package hugepage
