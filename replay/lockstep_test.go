package replay

import (
	"context"
	"errors"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// TestLockstep: whichever questions arms need not ask and wherever they leave, none asks a question
// while another one that is still there has not asked those before it, and none waits forever.
func TestLockstep(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		names := []string{"ts", "go", "py"}[:rapid.IntRange(1, 3).Draw(rt, "arms")]
		n := rapid.IntRange(1, 12).Draw(rt, "questions")
		plans := map[string][]int{}
		for _, a := range names {
			for i := range n {
				if rapid.Bool().Draw(rt, a) {
					plans[a] = append(plans[a], i)
				}
			}
		}
		l := newLockstep(names)
		var mu sync.Mutex
		var wg sync.WaitGroup
		left := map[string]int{} // the questions that an arm still has to ask
		for a, p := range plans {
			left[a] = len(p)
		}
		for _, a := range names {
			wg.Go(func() {
				defer l.leave(a)
				for k, i := range plans[a] {
					if err := l.turn(t.Context(), a, i); err != nil {
						t.Error(err)
					}
					mu.Lock()
					for b, p := range plans {
						if rest := p[len(p)-left[b]:]; b != a && len(rest) > 0 && rest[0] < i {
							t.Errorf("%s asks %d before %s has asked %d", a, i, b, rest[0])
						}
					}
					left[a] = len(plans[a]) - k - 1
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	})
}

func TestLockstepEnds(t *testing.T) {
	l := newLockstep([]string{"ts", "go"})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("interrupted")
	cancel(why)
	if err := l.turn(ctx, "go", 0); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
}
