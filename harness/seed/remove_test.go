package seed

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"evalctl/harness/target"
)

// TestRemoveEach checks that the others are removed after a failure, but not after the service
// did not answer, and what the error says.
func TestRemoveEach(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent := fmt.Errorf("%w within 30s", target.ErrNoAnswer)
	for _, c := range []struct {
		failing map[int]error
		tried   int
		says    []string
	}{
		{nil, 9, nil},
		{map[int]error{1: http.ErrBodyNotAllowed}, 9, []string{"brain 1"}},
		{map[int]error{0: http.ErrServerClosed, 1: http.ErrServerClosed, 4: http.ErrServerClosed, 5: http.ErrServerClosed, 8: http.ErrServerClosed}, 9,
			[]string{"brain 0", "brain 1", "brain 4", "and 2 more brains could not be removed"}},
		{map[int]error{0: http.ErrServerClosed, 2: silent}, 3, []string{"brain 0", "brain 2", "6 more brains must still be removed"}},
		{map[int]error{8: silent}, 9, []string{"brain 8"}},
	} {
		tried := 0
		err := RemoveEach(ctx, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}, func(ctx context.Context, i int) error {
			if tried++; ctx.Err() != nil {
				t.Error("removal ends with the run")
			}
			if c.failing[i] == nil {
				return nil
			}
			return fmt.Errorf("brain %d: %w", i, c.failing[i])
		})
		lines := []string{}
		if err != nil {
			lines = strings.Split(err.Error(), "\n")
		}
		if tried != c.tried || len(lines) != len(c.says) {
			t.Errorf("%v: tried %d: %v", c.failing, tried, err)
			continue
		}
		for i, part := range c.says {
			if !strings.Contains(lines[i], part) {
				t.Errorf("%v: want %q, got %q", c.failing, part, lines[i])
			}
		}
	}
	if err := RemoveEach(ctx, []int{0}, func(context.Context, int) error { return silent }); !errors.Is(err, target.ErrNoAnswer) {
		t.Errorf("got %v", err)
	}
}
