package search

// scratch is the working memory of one search. Between searches, all sums and places are zero.
type scratch struct {
	scores   sums // by chunk number
	found    []candidate
	levels   levels
	places   []uint32 // see passages
	numbers  numberSet
	weights  sums // by term number, see feedback
	contents sums // by term number, of one chunk
	gains    gains
	rough    rough

	occurrences     []occurrence
	scored, ordered []scoredChunk // see lexical
}

// borrow returns a scratch, which the caller puts back.
func (ix *Index) borrow() *scratch {
	if s, ok := ix.scratch.Get().(*scratch); ok {
		return s
	}
	return &scratch{}
}

// occurrence is a term's tf, as defined in score.go, in the passage at a place.
type occurrence struct {
	place int
	tf    float64
}

// sums accumulates positive values by number.
type sums struct {
	sums    []float64
	touched []uint32 // numbers whose sum is not zero
}

// grow makes space for numbers below n.
func (s *sums) grow(n int) {
	if missing := n - len(s.sums); missing > 0 {
		s.sums = append(s.sums, make([]float64, missing)...)
	}
}

func (s *sums) add(n uint32, value float64) {
	if s.sums[n] == 0 {
		s.touched = append(s.touched, n)
	}
	s.sums[n] += value
}

func (s *sums) reset() {
	for _, n := range s.touched {
		s.sums[n] = 0
	}
	s.touched = s.touched[:0]
}
