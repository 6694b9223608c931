// Package report makes pages for people of what this project finds: one file each,
// which needs no network and no other file, works from a disk, in light and dark, on paper, by
// keyboard and with a screen reader.
//
// A [Page] has sections of parts: facts, tables that sort and filter, drawings, and
// views that a script draws from data in the page. [Schedule], [Circuit], [Kernel],
// [Machine], [Comparison], [Reproduced] and [Sweep] make sections of results, and
// [Read] of files with results. [Server] shows a page while a sweep runs.
//
// It computes no result: what it shows was found and checked by others. Names and
// messages are texts and never markup, drawings are taken apart and put together of what is
// allowed, and the page's policy lets no other script run than its own. No path and no name of the
// machine gets into a page, for files are shown by their last element.
//
//	p := &report.Page{Title: "mult", Sections: report.Schedule("mult", graph, program)}
//	err := p.Write(w)
package report
