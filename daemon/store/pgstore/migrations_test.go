package pgstore_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"evalctl/daemon/store/pgstore"
)

// TestMigrations: a migration never changes, because there are databases that it was applied to. A
// change of the tables is another migration, whose sum is added here.
func TestMigrations(t *testing.T) {
	want := []string{
		"c8e2428415346a8ee811b3bdd5436303bfbc093e32ee55bddf8e29a7aff5d0a2",
		"660745deec65598b5b899e1ac000e87719feb4db098e331dd267a632a9882478",
	}
	var got []string
	for _, sql := range pgstore.Schema.Migrations {
		got = append(got, fmt.Sprintf("%x", sha256.Sum256([]byte(sql))))
	}
	if !slices.Equal(got, want) {
		t.Errorf("sums of the migrations: %q, want %q", got, want)
	}
}
