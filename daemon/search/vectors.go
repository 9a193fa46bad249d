package search

import (
	"evalctl/daemon/search/document"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"gonum.org/v1/gonum/blas/blas32"
)

// blockRows is the number of vectors that are allocated together: a small brain allocates little,
// and a large one never moves all its vectors to grow.
const blockRows = 64

// nearestRows is the number of vectors that is worth a goroutine.
const nearestRows = 4096

// vectors keeps a row of unit length for each chunk whose vector is known, by chunk number. A row
// takes 5 bytes for each dimension, and 13 more.
type vectors struct {
	dimension int         // of all rows; 0 before the first
	blocks    [][]float32 // of blockRows rows each, nil before the first row
	codes     [][]uint8   // of the same rows, see encode
	shapes    []codeShape // of the codes; those behind the last known row may be missing
	known     []bool
	count     int             // of known rows
	refused   map[uint32]bool // chunks that have no row because the embedder refused them
}

// grow adds n chunks, whose vectors are not known.
func (v *vectors) grow(n int) {
	v.known = append(v.known, make([]bool, n)...)
	if missing := (len(v.known)+blockRows-1)/blockRows - len(v.blocks); missing > 0 {
		v.blocks = append(v.blocks, make([][]float32, missing)...)
		v.codes = append(v.codes, make([][]uint8, missing)...)
	}
}

// bytes returns the memory that the vectors take, in bytes.
func (v *vectors) bytes() int {
	sum := cap(v.known) + cap(v.shapes)*int(unsafe.Sizeof(codeShape{})) + (cap(v.blocks)+cap(v.codes))*24
	for i, b := range v.blocks {
		sum += 4*cap(b) + cap(v.codes[i])
	}
	return sum
}

// refuse marks a chunk that the embedder has refused.
func (v *vectors) refuse(n uint32) {
	if v.refused == nil {
		v.refused = map[uint32]bool{}
	}
	v.refused[n] = true
}

// remove deletes the vector of a chunk.
func (v *vectors) remove(n uint32) {
	delete(v.refused, n)
	if v.known[n] {
		v.known[n] = false
		v.count--
	}
}

// set stores the vector of a chunk. All vectors must have the same length.
func (v *vectors) set(n uint32, unit []float32) {
	v.dimension = len(unit)
	block := &v.blocks[n/blockRows]
	if *block == nil {
		*block = make([]float32, blockRows*v.dimension)
		v.codes[n/blockRows] = make([]uint8, blockRows*codeLength(v.dimension))
	}
	copy(v.row(n), unit)
	codes := v.codesOf(n)
	clear(codes)
	if missing := len(v.known) - len(v.shapes); missing > 0 {
		v.shapes = append(v.shapes, make([]codeShape, missing)...)
	}
	v.shapes[n] = encode(unit, codes)
	if !v.known[n] {
		v.known[n] = true
		v.count++
	}
}

func (v *vectors) row(n uint32) []float32 {
	start := int(n%blockRows) * v.dimension
	return v.blocks[n/blockRows][start : start+v.dimension]
}

func (v *vectors) codesOf(n uint32) []uint8 {
	size := codeLength(v.dimension)
	start := int(n%blockRows) * size
	return v.codes[n/blockRows][start : start+size]
}

// compact moves the rows to the new numbers of their chunks, none of which is larger than the old
// one, and frees the blocks behind them.
func (v *vectors) compact(numbers []uint32, live int) {
	moved := vectors{dimension: v.dimension}
	moved.blocks = slices.Clone(v.blocks[:(live+blockRows-1)/blockRows])
	moved.codes = slices.Clone(v.codes[:len(moved.blocks)])
	moved.known = make([]bool, live)
	for old, n := range numbers {
		if n != deletedChunk && v.known[old] {
			moved.set(n, v.row(uint32(old)))
		} else if n != deletedChunk && v.refused[uint32(old)] {
			moved.refuse(n)
		}
	}
	*v = moved
}

// unit scales a vector to length 1. The error says what is wrong with the vector.
func unit(vector []float32) ([]float32, error) {
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

// nearest returns the k chunks with the largest cosine to a vector of unit length, best first, of
// the documents that keep accepts. It is exact, although it reads the codes of most vectors only.
// Chunks without a vector, or with a cosine that is not above 0, are never returned. Called with mu
// held; keep is called concurrently.
func (ix *Index) nearest(query []float32, keep func(*document.Document) bool, k int) []candidate {
	rows := len(ix.vectors.known)
	workers := max(1, min(runtime.GOMAXPROCS(0), rows/nearestRows))
	found := make([][]candidate, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { found[w] = ix.nearestOf(query, keep, k, rows*w/workers, rows*(w+1)/workers) })
	}
	wg.Wait()
	top := slices.Concat(found...)
	slices.SortFunc(top, ix.compare)
	return top[:min(k, len(top))]
}

// cosine returns the cosine of a vector of unit length and that of a chunk, at most 1.
func (v *vectors) cosine(query []float32, n uint32) float64 {
	q := blas32.Vector{N: len(query), Inc: 1, Data: query}
	row := blas32.Vector{N: len(query), Inc: 1, Data: v.row(n)}
	return min(1, float64(blas32.Dot(q, row))) // rounding may lead to more than 1
}

// nearestOf is nearest for the chunks from start to end, in no particular order.
func (ix *Index) nearestOf(query []float32, keep func(*document.Document) bool, k, start, end int) []candidate {
	var top []candidate // a heap, the worst first
	codes := encodeQuery(query)
	least := 0. // what the cosine of one of the best is at least
	for n := uint32(start); n < uint32(end); n++ {
		if !ix.vectors.known[n] {
			continue
		}
		if codes.bound(ix.vectors.codesOf(n), &ix.vectors.shapes[n]) < least {
			continue
		}
		cosine := ix.vectors.cosine(query, n)
		if cosine <= 0 || len(top) == k && cosine < top[0].score || !keep(&ix.chunks[n].doc.Document) {
			continue
		}
		c := candidate{cosine, n}
		if len(top) < k {
			top = append(top, c)
			ix.siftUp(top)
		} else if ix.compare(c, top[0]) < 0 {
			top[0] = c
			ix.siftDown(top)
		}
		if len(top) == k {
			least = top[0].score
		}
	}
	return top
}
