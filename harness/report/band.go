package report

import (
	"fmt"
	"math"
	"strings"

	"evalctl/harness/history"
)

// bandWidth is the width of a drawn interval on a terminal, in characters.
const bandWidth = 24

// bands draw intervals on a scale from low to high.
type bands struct{ low, high float64 }

// bandsOf returns the scale that shows the intervals of all nights.
func bandsOf(nights []history.Night) bands {
	b := bands{math.Inf(1), math.Inf(-1)}
	for _, n := range nights {
		if n.Entry.Scored() && n.Entry.Interval != nil {
			b.low, b.high = min(b.low, n.Entry.Interval.Low), max(b.high, n.Entry.Interval.High)
		}
	}
	return b
}

// title returns the ends of the scale, empty if there is no interval.
func (b bands) title() string {
	if b.low > b.high {
		return ""
	}
	left, right := fmt.Sprintf("%.2f", b.low), fmt.Sprintf("%.2f", b.high)
	return left + strings.Repeat(" ", bandWidth-len(left)-len(right)) + right
}

// draw returns an interval with its rate.
func (b bands) draw(low, rate, high float64) string {
	at := func(v float64) int {
		if b.high <= b.low {
			return 0
		}
		return min(bandWidth-1, max(0, int(math.Round((v-b.low)/(b.high-b.low)*(bandWidth-1)))))
	}
	cells := []rune(strings.Repeat("·", bandWidth))
	for i := at(low); i <= at(high); i++ {
		cells[i] = '─'
	}
	cells[at(rate)] = '●'
	return string(cells)
}
