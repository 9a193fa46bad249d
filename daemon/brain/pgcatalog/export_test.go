package pgcatalog

import (
	"context"
	"testing"
	"time"
)

// HurrySnapshots shortens the time that a statement of a snapshot may take.
func HurrySnapshots(t *testing.T, within time.Duration) {
	before := snapshotAnswer
	snapshotAnswer = within
	t.Cleanup(func() { snapshotAnswer = before })
}

// Leak adds the row of a lease that the process does not know it has, as if the answer to the
// statement of Take had been lost.
func (l *Leases) Leak(ctx context.Context, key, name string) error {
	uid, err := parseUID(key)
	if err != nil {
		return err
	}
	return l.insert(ctx, uid, name)
}
