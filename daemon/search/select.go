package search

// levels sorts candidates into levels of their scores, to find the best ones in linear time.
type levels struct {
	counts [1024]uint32 // candidates by level
}

// split moves the candidates that may be among the k best to the front: at least k of them, unless
// there are fewer, and all whose scores are as high as that of one of them. It returns the front and
// the rest.
func (l *levels) split(all []candidate, k int) (front, rest []candidate) {
	if len(all) <= 2*k {
		return all, nil
	}
	highest := 0.
	for _, c := range all {
		highest = max(highest, c.score)
	}
	scale := float64(len(l.counts)-1) / highest
	clear(l.counts[:])
	for _, c := range all {
		l.counts[int(c.score*scale)]++
	}
	lowest := len(l.counts) - 1
	for n := int(l.counts[lowest]); n < k; n += int(l.counts[lowest]) {
		lowest--
	}
	n := 0
	for i, c := range all {
		if int(c.score*scale) >= lowest {
			all[i], all[n] = all[n], c
			n++
		}
	}
	return all[:n], all[n:]
}

func (ix *Index) siftUp(top []candidate) {
	for i := len(top) - 1; i > 0; {
		parent := (i - 1) / 2
		if ix.compare(top[parent], top[i]) > 0 {
			return
		}
		top[parent], top[i] = top[i], top[parent]
		i = parent
	}
}

func (ix *Index) siftDown(top []candidate) {
	for i, worst := 0, 1; worst < len(top); worst = 2*i + 1 {
		if right := worst + 1; right < len(top) && ix.compare(top[right], top[worst]) > 0 {
			worst = right
		}
		if ix.compare(top[i], top[worst]) > 0 {
			return
		}
		top[i], top[worst] = top[worst], top[i]
		i = worst
	}
}
