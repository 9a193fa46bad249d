package vector

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The bound is never below the dot product, whatever the vectors are like, and close to it for
// vectors as models make them.
func TestBoundProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dimension := rapid.SampledFrom([]int{1, 3, 15, 16, 17, 100, 384, 4096}).Draw(t, "dimension")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		outlier := rapid.SampledFrom([]float32{0, 0, 1, 30, 1e6}).Draw(t, "outlier")
		draw := func() []float32 {
			v := randomVector(rng, dimension)
			v[rng.IntN(dimension)] += outlier * 1.5
			scaled, err := Unit(v)
			if err != nil {
				t.Fatal(err)
			}
			return scaled
		}
		query, row := draw(), draw()
		if rapid.Bool().Draw(t, "same") {
			row = slices.Clone(query)
		}
		q, codes := encodeQuery(query), make([]uint8, codeLength(dimension))
		shape := encode(row, codes)
		bound, exact := q.bound(codes, &shape), 0.
		for i := range row {
			exact += float64(query[i]) * float64(row[i])
		}
		if bound < exact {
			t.Errorf("the bound %v is below %v", bound, exact)
		}
		if outlier == 0 && bound > exact+.03 {
			t.Errorf("the bound %v is far above %v", bound, exact)
		}
	})
}

func TestDotCodes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{16, 32, 384, 4096} {
		row, query, want := make([]uint8, n), make([]int16, n), int64(0)
		levels := min(queryLevels, math.MaxInt32/codeLevels/n)
		for i := range row {
			row[i], query[i] = uint8(rng.IntN(256)), int16(rng.IntN(2*levels+1)-levels)
			want += int64(row[i]) * int64(query[i])
		}
		if got := dotCodes(row, query); int64(got) != want {
			t.Errorf("%d codes: %d, want %d", n, got, want)
		}
		for _, sign := range []int16{-1, 1} { // the extremes fit
			for i := range row {
				row[i], query[i] = codeLevels, sign*int16(levels)
			}
			if got, want := dotCodes(row, query), int64(sign)*int64(n)*codeLevels*int64(levels); int64(got) != want {
				t.Errorf("%d codes at the extreme: %d, want %d", n, got, want)
			}
		}
	}
}

// What the codes leave out is never among the nearest: the candidates and their scores are those of
// comparing every vector in full.
func TestNearestIsExact(t *testing.T) {
	for _, dimension := range []int{8, 50, 384} {
		r, rng := randomRows(2000, dimension)
		for n := range uint32(200) { // many alike, so that bounds overlap
			near := slices.Clone(r.row(0))
			near[rng.IntN(dimension)] += rng.Float32() / 1000
			scaled, err := Unit(near)
			if err != nil {
				t.Fatal(err)
			}
			r.Set(1+n, scaled)
		}
		for i := range 20 {
			query := randomVector(rng, dimension)
			if i%2 == 0 {
				query = slices.Clone(r.row(uint32(i)))
			}
			best := top{tie: cmp.Compare[uint32]}
			var want []Match
			for n := range uint32(2000) {
				if cosine := r.Cosine(query, n); cosine > 0 {
					want = append(want, Match{cosine, n})
				}
			}
			slices.SortFunc(want, best.compare)
			for _, k := range []int{1, 10, 100, 3000} {
				if got := r.Nearest(query, k, anyNumber, best.tie); !slices.Equal(got, want[:min(k, len(want))]) {
					t.Fatalf("dimension %d, k %d: %v, want %v", dimension, k, got[:min(k, 5)], want[:min(k, 5)])
				}
			}
		}
	}
}
