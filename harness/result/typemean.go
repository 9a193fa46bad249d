package result

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// TypeMeanText returns the unweighted mean of the pass rates of the question types, as in
// LongMemEval's task-averaged accuracy. It is empty if fewer than two types have questions that
// count.
func (r *Result) TypeMeanText() string {
	sum, n := 0.0, 0
	for _, tag := range slices.Sorted(maps.Keys(r.Tags)) {
		if f := r.Tags[tag]; strings.HasPrefix(tag, "type:") && f.Total > 0 {
			sum += float64(f.Passed) / float64(f.Total)
			n++
		}
	}
	if n < 2 {
		return ""
	}
	return fmt.Sprintf("%.3f  mean of the pass rates of %d types, each with the same weight", sum/float64(n), n)
}
