package pgcatalog_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evalctl/daemon/brain"
	"evalctl/daemon/brain/braintest"
	"evalctl/daemon/brain/pgcatalog"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

// openCatalog opens the catalog in a database. The caller must close it.
func openCatalog(t testing.TB, url string) *pgcatalog.Catalog {
	t.Helper()
	db, err := pgstore.Open(t.Context(), url, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return pgcatalog.New(db, slog.New(slog.DiscardHandler))
}

func TestCatalog(t *testing.T) {
	t.Parallel()
	braintest.Catalog(t, func(t *testing.T) func() brain.Catalog {
		url := postgrestest.Database(t)
		return func() brain.Catalog { return openCatalog(t, url) }
	})
}

// TestSelections compares what the database selects with the records that match.
func TestSelections(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	c := openCatalog(t, url)
	defer c.Close()
	s := openBrains(t, url)
	for _, b := range []string{"acme c", "globex b", " z", "acme a", "acme d", " y", "globex e"} {
		tenant, id, _ := strings.Cut(b, " ")
		create(t, s, tenant, id)
	}
	// The first brain of acme is damaged.
	if _, err := openDB(t, url).Pool().Exec(t.Context(), `UPDATE evalctl.brains SET record = '{"brain":7}' WHERE id = 'c'`); err != nil {
		t.Fatal(err)
	}
	if damaged, err := c.Damaged(t.Context()); err != nil || len(damaged) != 1 || damaged[0].Brain.ID != "c" || damaged[0].Damage == nil {
		t.Errorf("the damaged records are %+v, %v", damaged, err)
	}
	if reopened := openBrains(t, url); reopened.Damaged() != 1 {
		t.Errorf("%d damaged brains, want 1", reopened.Damaged())
	}
	for _, tt := range []struct {
		tenants, ids []string
		limit        int
		want, oldest string
	}{
		{nil, nil, 0, "a b d e y z", "b"},
		{nil, nil, 2, "a b", "b"},
		{[]string{"acme"}, nil, 0, "a d", "a"},
		{[]string{"acme"}, nil, 1, "a", "a"},
		{[]string{"acme", ""}, nil, 3, "a d", "z"}, // and c, which is damaged
		{[]string{"globex", "acme"}, []string{"e", "d", "z", "nowhere"}, 0, "d e", "d"},
		{nil, []string{"y", "c"}, 0, "y", "y"},
		{[]string{"acme"}, []string{}, 0, "", ""},
		{[]string{}, nil, 0, "", ""},
		{[]string{"acme"}, []string{"c"}, 0, "", ""},
		{[]string{"nobody"}, nil, 5, "", ""},
	} {
		sel := brain.Selection{Tenants: tt.tenants, IDs: tt.ids, Limit: tt.limit}
		records, err := s.List(t.Context(), sel)
		var ids []string
		for _, r := range records {
			ids = append(ids, r.Brain.ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != tt.want {
			t.Errorf("%+v: got %q, %v, want %q", sel, got, err, tt.want)
		}
		oldest, err := s.Oldest(t.Context(), sel)
		if err != nil && !errors.Is(err, brain.ErrNotFound) || oldest.Brain.ID != tt.oldest || (err == nil) != (tt.oldest != "") {
			t.Errorf("%+v: the oldest is %q, %v, want %q", sel, oldest.Brain.ID, err, tt.oldest)
		}
	}
	if n, err := s.Count(t.Context()); err != nil || n != 7 {
		t.Errorf("counted %d, %v", n, err)
	}
}

// TestRecordChangedElsewhere: a change of a record that one replica has made is what the next
// lookup of another one finds, through the same handle.
func TestRecordChangedElsewhere(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	a, b := openCatalog(t, url), openBrains(t, url)
	defer a.Close()
	create(t, b, "acme", "notes")
	before := mustFind(t, b, "acme", "notes")
	found, err := a.Lookup(t.Context(), "acme", "notes")
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	changed := found[0]
	changed.Brain.Name, changed.Brain.Visibility = "Notes of all", protocol.VisibilityTenant
	changed.Brain.Extra = map[string]json.RawMessage{"description": json.RawMessage(`"new"`)}
	if err := a.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	after := mustFind(t, b, "acme", "notes")
	if diff := cmp.Diff(changed.Brain, after.Brain()); diff != "" || after != before {
		t.Errorf("the same brain: %v, its record (-want +got):\n%s", after == before, diff)
	}
}

// TestMigrationOfIDs: in a database in which ids were unique, brains keep theirs, and tenants can
// have the same afterwards.
func TestMigrationOfIDs(t *testing.T) {
	t.Parallel()
	url := postgrestest.Database(t)
	pool, err := postgres.Open(t.Context(), url, postgres.Options{Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	first := postgres.Schema{Name: pgstore.Schema.Name, Migrations: pgstore.Schema.Migrations[:1]}
	if err := first.Ensure(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	for i, b := range [][2]string{{"acme", "a1"}, {"globex", "a1-otjxzkcjw7wuvsnbhb5pzfmxzm"}} {
		_, err := pool.Exec(t.Context(), `WITH b AS (INSERT INTO evalctl.brains (uid, id, tenant, record) OVERRIDING SYSTEM VALUE
			VALUES ($1, $2, $3, json_build_object('brain', json_build_object('id', $2::text, 'slug', 'a1', 'name', 'A')))),
			h AS (INSERT INTO evalctl.heads (brain) VALUES ($1))
			INSERT INTO evalctl.names (tenant, name, uid) SELECT DISTINCT $3, n, $1::bigint FROM unnest(ARRAY[$2, 'a1']) n`, i+1, b[1], b[0])
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := pgstore.Open(t.Context(), url, slog.New(slog.DiscardHandler)); !errors.Is(err, postgres.ErrSchema) {
		t.Errorf("not migrated: %v", err)
	}
	if from, err := pgstore.Schema.Migrate(t.Context(), pool); err != nil || from != 1 {
		t.Fatalf("migrated from %d: %v", from, err)
	}
	s := openBrains(t, url)
	if h := mustFind(t, s, "globex", "a1"); h.Brain().ID != "a1-otjxzkcjw7wuvsnbhb5pzfmxzm" {
		t.Errorf("got %+v", h.Brain())
	}
	create(t, s, "initech", "a1")
	for _, tenant := range []string{"acme", "initech"} {
		if h := mustFind(t, s, tenant, "a1"); h.Tenant() != tenant || h.Brain().ID != "a1" {
			t.Errorf("%s: got %+v of %s", tenant, h.Brain(), h.Tenant())
		}
	}
}
