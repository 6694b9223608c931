package tile

import (
	"path"
	"slices"
	"strings"
)

// Parameters, or sections of them, that are described, by what depends on them. A * stands
// for one name. Tests of packages system and system/multicore change each parameter and
// compare figures.
var (
	// notModelled are those that no figure depends on yet: what models one takes it out.
	notModelled = []string{
		"cores.*.fetch_to_taken", "cores.*.predictor.table_bits", "cores.*.predictor.tables", "cores.*.predictor.history", "cores.*.predictor.btb_entries",
		"cores.*.units.fp_sqrt", "cores.*.units.int_div.count", "cores.*.units.fp_div.count", "cores.io4.int_registers", "cores.io4.fp_registers", "cores.*.dependence_bytes",
		"tlb.l1.latency_cycles", "l1i", "l1d.fills_per_cycle", "l1d.queue_entries", "l2.tags_per_cycle", "l2.fills_per_cycle", "l2.queue_entries",
		"l3.fills_per_cycle", "l3.queue_entries", "l3.directory_transactions", "prefetch.bingo.queue_entries", "prefetch.stride.filter_entries", "prefetch.stride.cross_pages",
		"noc.controller_place", "dram.transfer_mt_s", "streams.core.streams", "streams.core.run_ahead_elements", "streams.core.atomic_ahead_elements", "streams.l3.per_bank",
		"streams.l3.migrate_width",
	}
	// inStreams are those that runs in time with streams depend on, and nothing else.
	inStreams = []string{
		"tlb.streams", "cores.*.stream_load_ports", "cores.*.stream_store_ports", "cores.*.stream_fifo_bytes", "cores.*.scc_rob", "cores.*.computations", "streams.core.sccs", "streams.core.offload", "streams.core.timeout_cycles", "streams.core.lock_timeout_cycles", "streams.l2.slices", "streams.l2.indirect_slices", "streams.l2.segments", "streams.l3.compute_init_cycles", "streams.l3.scalar_pe", "streams.l3.vectorize", "streams.l3.issue_width", "streams.l3.order", "streams.l3.patience_cycles", "streams.l3.queue_flits",
		"streams.l3.requests", "streams.l3.range_iterations", "streams.l3.range_policy", "streams.l3.affine_ranges", "streams.l3.locks", "streams.l3.strands", "streams.l3.multicast", "streams.l3.broadcast", "streams.l3.broadcast_wait_cycles", "streams.l3.keep_operands", "streams.l3.keep_patterns", "streams.l3.buffer_bytes", "streams.l3.sharing", "streams.l3.migrate", "streams.l3.instant_end", "streams.l3.instant_flow", "streams.l3.instant_ack",
	}
	// inRegions are those that runs in time with regions in memory depend on, and nothing
	// else.
	inRegions = []string{"transpose", "lot.release_requests", "lot.release_miss_rate", "lot.release_cycles", "tensor"}
	// notInArrays are those that figures of what arrays compute do not depend on, but
	// runs of whole functions in time do.
	notInArrays = []string{
		"cores.*.order", "cores.*.rob", "cores.*.iq", "cores.*.lq", "cores.*.sq", "cores.*.int_registers", "cores.*.fp_registers",
		"cores.*.front_end_cycles", "cores.*.redirect_cycles", "cores.*.predictor.kind",
		"cores.*.units.int_alu", "cores.*.units.int_mul", "cores.*.units.int_div", "cores.*.units.fp_alu", "cores.*.units.fp_mul",
		"cores.*.units.fp_div", "cores.*.units.int_simd",
		"cores.*.load_ports", "cores.*.store_ports", "cores.*.max_requests", "cores.*.stores_in_flight", "cores.*.store_prefetch", "cores.*.forward_cycles",
		"tlb", "l1d", "l2", "l3.ways", "l3.latency_cycles", "l3.interleave_bytes", "l3.mshrs", "l3.tags_per_cycle", "l3.fill_cycles", "l3.replacement", "prefetch",
		"dram.interleave_bytes", "dram.mapping", "dram.ranks", "dram.bank_groups", "dram.banks_per_group", "dram.rows",
		"dram.lines_per_row", "dram.read_queue", "dram.write_queue", "dram.bank_queue", "dram.drain_above", "dram.hit_limit", "dram.timing", "memory", "threads",
	}
	// notInTime are those that runs of whole functions do not depend on, but figures of
	// what arrays compute do.
	notInTime = []string{
		"l3.compute_ways", "array.technology", "array.cost_table", "array.shift_bitlines", "htree", "noc.header_bytes", "noc.control_bytes", "noc.packet_bytes",
		"dram.bandwidth_gb_s", "streams.l3.ops_per_cycle", "lot.regions", "jit",
	}
)

// labels are no parameters of hardware.
var labels = []string{"version", "name", "title", "base"}

// in tells whether a parameter is in one of some lists.
func in(parameter string, lists ...[]string) bool {
	for _, list := range lists {
		for _, p := range list {
			if within(parameter, p) {
				return true
			}
		}
	}
	return false
}

// within tells whether a parameter is in a section, or is the one of that name.
func within(parameter, section string) bool {
	steps := strings.Split(parameter, ".")
	n := strings.Count(section, ".") + 1
	if len(steps) < n {
		return false
	}
	ok, err := path.Match(strings.ReplaceAll(section, ".", "/"), strings.Join(steps[:n], "/"))
	return ok && err == nil
}

// NotModelled returns the parameters, or sections of them, that are described and on
// which no figure depends. A * stands for one name.
func NotModelled() []string { return append([]string(nil), notModelled...) }

// Unmodelled returns the parameters on which no figure depends and whose values no machine
// that comes with the program has: someone expects an effect of them.
func (m *Machine) Unmodelled() (list []Parameter) {
	for _, p := range m.Parameters() {
		if !p.Arrays && !p.Time && !p.Streams && !p.Regions && !in(p.Path, labels) {
			list = append(list, p)
		}
	}
	names := MachineNames()
	for i, name := range names { // of those that come with the program one has all its own values
		if name == m.Name {
			names[0], names[i] = names[i], names[0]
		}
	}
	for _, name := range names {
		if len(list) == 0 {
			break
		}
		k, err := builtIn(name)
		if err != nil {
			panic(err) // a test reads them
		}
		known := map[[2]string]bool{}
		for _, p := range k.Parameters() {
			known[[2]string{p.Path, p.Value}] = true
		}
		list = slices.DeleteFunc(list, func(p Parameter) bool { return known[[2]string{p.Path, p.Value}] })
	}
	return list
}
