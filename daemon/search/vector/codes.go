package vector

import "math"

// Vectors are compared in short form first, a byte for each number, because reading them from
// memory takes longer than the arithmetic. A bound on the error decides which vectors must be
// compared in full, so the result is exact.
const (
	codeLevels  = 255  // largest code of a number of a row
	queryLevels = 2047 // largest absolute code of a number of a query
	codeGroup   = 16   // dotCodes takes as many codes at once
)

// codeShape is the meaning of the codes of a vector: number i is code[i]·step − zero.
type codeShape struct {
	step, zero float32
	err        float32 // length of the difference from the vector
}

// codeLength returns the number of codes of a vector. Codes beyond the vector's own are 0.
func codeLength(dimension int) int {
	return (dimension + codeGroup - 1) / codeGroup * codeGroup
}

// encode sets the codes of a vector, evenly spaced between its extremes.
func encode(vector []float32, codes []uint8) codeShape {
	reach := float32(0)
	for _, x := range vector {
		reach = max(reach, x, -x)
	}
	s, squares := codeShape{step: 2 * reach / codeLevels, zero: reach}, 0.
	for i, x := range vector {
		code := min(max(math.Round(float64(x+s.zero)/float64(s.step)), 0), codeLevels)
		left := float64(x) - (code*float64(s.step) - float64(s.zero))
		codes[i], squares = uint8(code), squares+left*left
	}
	s.err = float32(math.Sqrt(squares))
	return s
}

// queryCodes are the codes of a query: number i is codes[i]·step.
type queryCodes struct {
	codes []int16
	step  float64
	sum   float64 // of the codes
	err   float64 // length of the difference from the query
	// slack bounds the rounding of a dot product of 32-bit numbers, and of a codeShape.
	slack float64
}

func encodeQuery(vector []float32) queryCodes {
	reach := 0.
	for _, x := range vector {
		reach = max(reach, math.Abs(float64(x)))
	}
	// The sum of the products must fit into 32 bits.
	levels := min(queryLevels, float64(math.MaxInt32/codeLevels/len(vector)))
	q := queryCodes{
		codes: make([]int16, codeLength(len(vector))), step: reach / levels,
		slack: float64(len(vector)+16) / (1 << 23),
	}
	squares := 0.
	for i, x := range vector {
		code := math.Round(float64(x) / q.step)
		left := float64(x) - code*q.step
		q.codes[i], q.sum, squares = int16(code), q.sum+code, squares+left*left
	}
	q.err = math.Sqrt(squares)
	return q
}

// bound returns a number that is not below the dot product of the query and a row of unit length.
//
// For the vectors q' and x' that the codes encode, q·x − q'·x' is q·(x−x') + (q−q')·x', which
// is at most |x−x'| + |q−q'|·|x'|, and |x'| is at most 1 + |x−x'|.
func (q *queryCodes) bound(row []uint8, s *codeShape) float64 {
	products, left := float64(dotCodes(row, q.codes)), float64(s.err)
	dot := q.step * (float64(s.step)*products - float64(s.zero)*q.sum)
	return dot + left + q.err*(1+left) + q.slack
}
