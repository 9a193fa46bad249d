package vector

import (
	"container/heap"
	"runtime"
	"slices"
	"sync"
)

// nearestRows is the number of vectors that is worth a goroutine.
const nearestRows = 4096

// Match is a number whose vector has this cosine to another one.
type Match struct {
	Cosine float64
	Number uint32
}

// Nearest returns the k numbers, among those that keep accepts, with the largest cosine to a vector
// of unit length, best first. tie orders two with the same cosine. The result is exact, although
// most vectors are compared only by their codes. Numbers without a vector, or with a cosine that is
// not above 0, are never returned. keep and tie are called concurrently.
func (r *Rows) Nearest(query []float32, k int, keep func(n uint32) bool, tie func(a, b uint32) int) []Match {
	rows := len(r.known)
	workers := max(1, min(runtime.GOMAXPROCS(0), rows/nearestRows))
	found := make([]top, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			found[w].tie = tie
			found[w].search(r, query, k, keep, rows*w/workers, rows*(w+1)/workers)
		})
	}
	wg.Wait()
	var all []Match
	for i := range found {
		all = append(all, found[i].matches...)
	}
	slices.SortFunc(all, found[0].compare)
	return all[:min(k, len(all))]
}

// top is a heap of the best matches, the worst first once there are as many as wanted.
type top struct {
	matches []Match
	tie     func(a, b uint32) int
}

// search adds the k best of the numbers from start to end.
func (t *top) search(r *Rows, query []float32, k int, keep func(n uint32) bool, start, end int) {
	codes := encodeQuery(query)
	least := 0. // what the cosine of one of the best is at least
	for n := uint32(start); n < uint32(end); n++ {
		if !r.known[n] {
			continue
		}
		if codes.bound(r.codesOf(n), &r.shapes[n]) < least {
			continue
		}
		cosine := r.Cosine(query, n)
		if cosine <= 0 || len(t.matches) == k && cosine < t.matches[0].Cosine || !keep(n) {
			continue
		}
		m := Match{cosine, n}
		switch {
		case len(t.matches) < k:
			if t.matches = append(t.matches, m); len(t.matches) < k {
				continue
			}
			heap.Init(t)
		case t.compare(m, t.matches[0]) < 0:
			t.matches[0] = m
			heap.Fix(t, 0)
		}
		least = t.matches[0].Cosine
	}
}

// compare orders matches, the best first.
func (t *top) compare(a, b Match) int {
	switch {
	case a.Cosine > b.Cosine:
		return -1
	case a.Cosine < b.Cosine:
		return 1
	}
	return t.tie(a.Number, b.Number)
}

// The methods of heap.Interface.

func (t *top) Len() int           { return len(t.matches) }
func (t *top) Less(i, j int) bool { return t.compare(t.matches[i], t.matches[j]) > 0 }
func (t *top) Swap(i, j int)      { t.matches[i], t.matches[j] = t.matches[j], t.matches[i] }
func (t *top) Push(any)           { panic("matches are appended before the heap is initialised") }
func (t *top) Pop() any           { panic("the worst match is replaced") }
