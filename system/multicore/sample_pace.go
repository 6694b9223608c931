package multicore

// paces are the rates of threads, as shares of the mean one of each window. A window is short, so that
// threads differ in it by chance, and would wait for the slowest of many where they do not: what is
// taken for the thread's own is the part of the variance that stays in the means over windows (James and
// Stein's estimator).
type paces struct{ windows, mean, squares []float64 }

func newPaces(threads int) *paces {
	return &paces{make([]float64, threads), make([]float64, threads), make([]float64, threads)}
}

// add takes a thread's share in one more window.
func (p *paces) add(thread int, share float64) {
	p.windows[thread]++
	d := share - p.mean[thread]
	p.mean[thread] += d / p.windows[thread]
	p.squares[thread] += d * (share - p.mean[thread])
}

// own is the part of what the means of threads differ by that is not chance, from 0 to 1.
func (p *paces) own() float64 {
	threads, within, free, chance, mean := 0.0, 0.0, 0.0, 0.0, 0.0
	for i, n := range p.windows {
		if n > 0 {
			threads++
			within, free = within+p.squares[i], free+n-1
			chance += 1 / n
			mean += p.mean[i]
		}
	}
	if threads < 2 || free == 0 {
		return 0
	}
	mean /= threads
	between := 0.0
	for i, n := range p.windows {
		if n > 0 {
			between += (p.mean[i] - mean) * (p.mean[i] - mean)
		}
	}
	between /= threads - 1
	return max(0, 1-ratio(within/free*chance/threads, between))
}

// slowest is the least share that a thread is taken to have.
const slowest = 1.0 / 8

// of is the share of each thread in what follows.
func (p *paces) of() []float64 {
	own, list := p.own(), make([]float64, len(p.mean))
	for i := range list {
		list[i] = 1
		if p.windows[i] > 0 {
			list[i] = max(slowest, 1+own*(p.mean[i]-1))
		}
	}
	return list
}
