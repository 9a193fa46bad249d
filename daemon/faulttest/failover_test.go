package faulttest

import (
	"testing"

	"evalctl/internal/postgres/postgrestest"
)

// TestFailover kills the server of the database and promotes one that every commit has waited for.
func TestFailover(t *testing.T) {
	t.Parallel()
	onlyLong(t)
	primary := postgrestest.NewWith(t, fast)
	url := primary.Database()
	standby := primary.Standby(primary.Addr())
	primary.WaitForStandbys()
	url = primary.Either(url, standby)
	f := newFleetAt(t, url, []string{url, url})
	f.test(1, func() {
		primary.Stop("immediate")
		f.rest()
		standby.Promote()
	})
	if n, want := f.counts.attached.Load(), int64(len(f.watchers)); n != want {
		t.Errorf("%d event streams were attached one after the other, want the first %d to last", n, want)
	}
}
