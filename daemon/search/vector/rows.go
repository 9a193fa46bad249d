// Package vector keeps vectors of unit length in memory and finds the nearest of them, exactly.
package vector

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"gonum.org/v1/gonum/blas/blas32"
)

// blockRows is the number of vectors that are allocated together: a small brain allocates little,
// and a large one never moves all its vectors to grow.
const blockRows = 64

// Rows are vectors of unit length by number. A number has a vector, or was refused one, or still
// waits for one. The zero Rows have no numbers. A row takes 5 bytes for each dimension, and 13
// more. Methods that only read may be called concurrently.
type Rows struct {
	dimension int         // of all rows; 0 before the first
	blocks    [][]float32 // of blockRows rows each, nil before the first row
	codes     [][]uint8   // of the same rows, see encode
	shapes    []codeShape // of the codes; those behind the last known row may be missing
	known     []bool
	count     int             // of known rows
	refused   map[uint32]bool // numbers that are refused a vector
}

// Grow adds the next n numbers. They wait for vectors.
func (r *Rows) Grow(n int) {
	r.known = append(r.known, make([]bool, n)...)
	if missing := (len(r.known)+blockRows-1)/blockRows - len(r.blocks); missing > 0 {
		r.blocks = append(r.blocks, make([][]float32, missing)...)
		r.codes = append(r.codes, make([][]uint8, missing)...)
	}
}

// Bytes returns the memory that the vectors take, in bytes.
func (r *Rows) Bytes() int {
	sum := cap(r.known) + cap(r.shapes)*int(unsafe.Sizeof(codeShape{})) + (cap(r.blocks)+cap(r.codes))*24
	for i, b := range r.blocks {
		sum += 4*cap(b) + cap(r.codes[i])
	}
	return sum
}

// Has reports whether a number has a vector.
func (r *Rows) Has(n uint32) bool { return r.known[n] }

// Waits reports whether a number has neither a vector nor was refused one.
func (r *Rows) Waits(n uint32) bool { return !r.known[n] && !r.refused[n] }

// Settled returns how many numbers have a vector or were refused one.
func (r *Rows) Settled() int { return r.count + len(r.refused) }

// Refuse marks a number that gets no vector.
func (r *Rows) Refuse(n uint32) {
	if r.refused == nil {
		r.refused = map[uint32]bool{}
	}
	r.refused[n] = true
}

// Remove deletes the vector of a number, and that it was refused one.
func (r *Rows) Remove(n uint32) {
	delete(r.refused, n)
	if r.known[n] {
		r.known[n] = false
		r.count--
	}
}

// Set copies the vector of a number, which must have unit length. All vectors must have as many
// dimensions as the first.
func (r *Rows) Set(n uint32, unit []float32) {
	r.dimension = len(unit)
	block := &r.blocks[n/blockRows]
	if *block == nil {
		*block = make([]float32, blockRows*r.dimension)
		r.codes[n/blockRows] = make([]uint8, blockRows*codeLength(r.dimension))
	}
	copy(r.row(n), unit)
	codes := r.codesOf(n)
	clear(codes)
	if missing := len(r.known) - len(r.shapes); missing > 0 {
		r.shapes = append(r.shapes, make([]codeShape, missing)...)
	}
	r.shapes[n] = encode(unit, codes)
	if !r.known[n] {
		r.known[n] = true
		r.count++
	}
}

func (r *Rows) row(n uint32) []float32 {
	start := int(n%blockRows) * r.dimension
	return r.blocks[n/blockRows][start : start+r.dimension]
}

func (r *Rows) codesOf(n uint32) []uint8 {
	size := codeLength(r.dimension)
	start := int(n%blockRows) * size
	return r.codes[n/blockRows][start : start+size]
}

// Compact moves the vectors to the new numbers that numbers has by the old ones, and frees the
// memory behind them. No new number is larger than the old one. Only new numbers below live are
// kept.
func (r *Rows) Compact(numbers []uint32, live int) {
	moved := Rows{dimension: r.dimension}
	moved.blocks = slices.Clone(r.blocks[:(live+blockRows-1)/blockRows])
	moved.codes = slices.Clone(r.codes[:len(moved.blocks)])
	moved.known = make([]bool, live)
	for old, n := range numbers {
		switch old := uint32(old); {
		case int(n) >= live:
		case r.known[old]:
			moved.Set(n, r.row(old))
		case r.refused[old]:
			moved.Refuse(n)
		}
	}
	*r = moved
}

// Cosine returns the cosine of a vector of unit length and the vector of a number, at most 1.
func (r *Rows) Cosine(query []float32, n uint32) float64 {
	q := blas32.Vector{N: len(query), Inc: 1, Data: query}
	row := blas32.Vector{N: len(query), Inc: 1, Data: r.row(n)}
	return min(1, float64(blas32.Dot(q, row))) // rounding may lead to more than 1
}

// Unit scales a vector to length 1. It fails if the length is not a positive finite number.
func Unit(vector []float32) ([]float32, error) {
	sum := 0.0
	for _, x := range vector {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("a vector of %d numbers has length %v", len(vector), math.Sqrt(sum))
	}
	scaled, norm := make([]float32, len(vector)), math.Sqrt(sum)
	for i, x := range vector {
		scaled[i] = float32(float64(x) / norm)
	}
	return scaled, nil
}
