package labels

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Kinds are merged by their sizes and names, whatever their order.
func TestMerge(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		sizes      []int
	}{
		{"one", "0:7", []int{7}},
		{"large enough", "0:15 2:20 1:65", []int{15, 65, 20}},
		{"the types of LongMemEval", "1+2:86 3:133 4:133 0+5:148", []int{70, 56, 30, 133, 133, 78}},
		{"one of 95 %", "0+1+2+3+4:1000", []int{950, 12, 13, 12, 13}},
		{"as many as answers", "2+3:2 4+5:2 0+1+6:3", []int{1, 1, 1, 1, 1, 1, 1}},
	} {
		for range 5 {
			var strata []Stratum
			for _, i := range rand.Perm(len(tt.sizes)) {
				strata = append(strata, Stratum{Name: fmt.Sprint(i), Answers: tt.sizes[i]})
			}
			merged, group := merge(strata)
			members := make([][]string, len(merged))
			for i, g := range group {
				members[g] = append(members[g], strata[i].Name)
			}
			var got []string
			for g, m := range members {
				slices.Sort(m)
				got = append(got, fmt.Sprintf("%s:%d", strings.Join(m, "+"), merged[g].Answers))
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, text, tt.want)
			}
		}
	}
}

// However many kinds there are and however their sizes differ, 20 labels are two or more of each
// stratum, and its share of them but for less than one.
func TestDrawIsProportional(t *testing.T) {
	random := rand.New(rand.NewPCG(37, 1))
	for range 300 {
		p := &Population{Design: Design{Sample: Stratified, Seed: random.Uint64()}}
		for k := range 1 + random.IntN(30) {
			size := 1 + int(20*random.ExpFloat64()*random.ExpFloat64())
			p.Strata = append(p.Strata, Stratum{fmt.Sprint(k), size})
			for range size {
				p.Answers = append(p.Answers, Answer{ID: fmt.Sprint(len(p.Answers)), stratum: k})
			}
		}
		if len(p.Answers) < 20 {
			continue
		}
		p.merge()
		p.draw()
		drawn := make([]int, len(p.Strata))
		for n, a := range p.Answers {
			drawn[a.stratum]++
			for s, got := range drawn {
				want := float64(n+1) * float64(p.Strata[s].Answers) / float64(len(p.Answers))
				if n+1 >= 20 && (got < 2 || float64(got) < want-1 || float64(got) > want+1) {
					t.Fatalf("%d of %d labels are of a stratum of %v, want %.2f", got, n+1, p.Strata, want)
				}
			}
		}
	}
}
