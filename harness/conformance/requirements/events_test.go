package requirements

import (
	"fmt"
	"strings"
	"testing"
)

// Ids are opaque: numbers of any length must increase, and others must differ.
func TestEventIDs(t *testing.T) {
	const kept, notJudged = "", "not judged"
	for ids, want := range map[string]string{
		"1 2 10": kept,
		"1000000000000000000000000000007 1000000000000000000000000000014": kept,
		"9 10 2":    `want an id above "10", got "2"`,
		"1 01":      `want an id above "1", got "01"`,
		"7-1 7-2":   notJudged,
		"0x9 0xa":   notJudged,
		"7-1 7-1":   `want a unique id`,
		"":          `want a unique id in every frame, got "" for "change"`,
		"2 1 a":     `want an id above "2"`,
		"1 2 a b":   notJudged,
		"1000 1000": `want a unique id`,
	} {
		t.Run(ids, func(t *testing.T) {
			var frames []frame
			for _, id := range strings.Split(ids, " ") {
				frames = append(frames, frame{id: id, name: "change"})
			}
			err := against(idsIncrease(frames))
			broken, reason := verdict(err)
			switch {
			case want == kept && err != nil, want == notJudged && (broken || reason != ReasonObserve):
				t.Errorf("broken %v, %q: %v", broken, reason, err)
			case want != kept && want != notJudged && (!broken || !strings.Contains(fmt.Sprint(err), want)):
				t.Errorf("broken %v: %v, want %s", broken, err, want)
			}
		})
	}
}
