package vector

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

func anyNumber(uint32) bool { return true }

func randomVector(rng *rand.Rand, dimension int) []float32 {
	v := make([]float32, dimension)
	for i := range v {
		v[i] = rng.Float32() - 0.5
	}
	scaled, err := Unit(v)
	if err != nil {
		panic(err)
	}
	return scaled
}

func randomRows(rows, dimension int) (*Rows, *rand.Rand) {
	r, rng := &Rows{}, rand.New(rand.NewPCG(1, 2))
	for n := range uint32(rows) {
		r.Grow(1)
		r.Set(n, randomVector(rng, dimension))
	}
	return r, rng
}

// What is kept has the new number, and nothing of the others remains.
func TestCompact(t *testing.T) {
	r, _ := randomRows(4*blockRows, 8)
	kept := slices.Clone(r.row(3*blockRows + 1))
	r.Remove(3 * blockRows)
	r.Refuse(3 * blockRows)
	numbers := make([]uint32, 4*blockRows)
	for i := range numbers {
		numbers[i] = math.MaxUint32
		if i >= 3*blockRows {
			numbers[i] = uint32(i - 3*blockRows)
		}
	}
	r.Compact(numbers, blockRows)
	if r.Has(0) || r.Waits(0) || !r.Has(1) || !slices.Equal(r.row(1), kept) || r.Settled() != blockRows {
		t.Errorf("0 has a vector: %t, waits: %t; 1 has %v, want %v; %d are settled", r.Has(0), r.Waits(0), r.row(1), kept, r.Settled())
	}
	if len(r.blocks) > 2 || len(r.known) > 2*blockRows {
		t.Errorf("%d blocks, %d rows left", len(r.blocks), len(r.known))
	}
}

// Several goroutines find the same as one.
func TestNearestInParallel(t *testing.T) {
	r, rng := randomRows(5*nearestRows/2, 8)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for range 20 {
		query := randomVector(rng, 8)
		want := top{tie: cmp.Compare[uint32]}
		want.search(r, query, 50, anyNumber, 0, len(r.known))
		slices.SortFunc(want.matches, want.compare)
		if got := r.Nearest(query, 50, anyNumber, want.tie); !slices.Equal(got, want.matches) {
			t.Errorf("%v, want %v", got, want.matches)
		}
	}
}

func TestUnit(t *testing.T) {
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	tests := []struct {
		in, want []float32 // want is nil for an error
	}{
		{[]float32{3, 4}, []float32{0.6, 0.8}},
		{[]float32{1e-30, 0}, []float32{1, 0}},
		{[]float32{math.MaxFloat32, 0}, []float32{1, 0}},
		{[]float32{0, 0}, nil},
		{[]float32{}, nil},
		{[]float32{nan, 1}, nil},
		{[]float32{inf, 1}, nil},
	}
	for _, tt := range tests {
		got, err := Unit(tt.in)
		if diff := gocmp.Diff(tt.want, got); diff != "" || (err == nil) != (tt.want != nil) {
			t.Errorf("Unit(%v) = %v, %v", tt.in, got, err)
		}
	}
}

// BenchmarkVectors compares 100,000 vectors of 384 dimensions with one, exactly, and a loop in
// plain Go over the same rows. B/row is the memory of a vector.
func BenchmarkVectors(b *testing.B) {
	const rows, dimension = 100_000, 384
	var before, after runtime.MemStats
	var r Rows
	rng := rand.New(rand.NewPCG(3, 4))
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range uint32(rows) {
		r.Grow(1)
		r.Set(n, randomVector(rng, dimension))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	query := randomVector(rng, dimension)
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			best := float32(0)
			for n := range uint32(rows) {
				sum := float32(0)
				for i, x := range r.row(n) {
					sum += x * query[i]
				}
				best = max(best, sum)
			}
		}
	})
	b.Run("nearest", func(b *testing.B) {
		for b.Loop() {
			r.Nearest(query, 100, anyNumber, cmp.Compare[uint32])
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/rows, "B/row")
	})
}
