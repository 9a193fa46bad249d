package queue_test

import (
	"testing"

	"evalctl/harness/result"
	"evalctl/internal/postgres/postgrestest"
)

// TestRestarts: the restarts of a daemon that all workers ask are those of the worker that noticed
// most, and are no observation of a canary.
func TestRestarts(t *testing.T) {
	t.Parallel()
	run := create(t, open(t, postgrestest.Database(t), false), nil)
	ctx := t.Context()
	for _, n := range []int{1, 2, 1} {
		if err := run.NoteRestarts(ctx, "go", n); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := run.Restarts(ctx, "go"); err != nil || n != 2 {
		t.Errorf("%d restarts, %v", n, err)
	}
	if a, err := run.Admission(ctx, "go"); err != nil || a != nil {
		t.Errorf("admission %+v, %v", a, err)
	}
	if err := run.Admit(ctx, "go", &result.Admission{Brain: result.CanaryAlone}); err != nil {
		t.Fatal(err)
	}
	if a, err := run.Admission(ctx, "go"); err != nil || a == nil || a.Brain != result.CanaryAlone {
		t.Errorf("admission %+v, %v", a, err)
	}
	if n, err := run.Restarts(ctx, "ts"); err != nil || n != 0 {
		t.Errorf("%d restarts of another arm, %v", n, err)
	}
}
