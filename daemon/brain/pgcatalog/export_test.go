package pgcatalog

import (
	"testing"
	"time"
)

// HurrySnapshots shortens the time that a statement of a snapshot may take.
func HurrySnapshots(t *testing.T, within time.Duration) {
	before := snapshotAnswer
	snapshotAnswer = within
	t.Cleanup(func() { snapshotAnswer = before })
}
