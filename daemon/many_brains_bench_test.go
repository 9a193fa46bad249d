package daemon_test

import (
	"net/http"
	"testing"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon"
	"evalctl/internal/llm"
	"evalctl/internal/postgres/postgrestest"
)

// manyBrains adds brains to a database that a daemon uses: all are those of no tenant.
const manyBrains = `
	WITH b AS (INSERT INTO evalctl.brains (id, tenant, record)
		SELECT 'b' || i, '', json_build_object('brain', json_build_object('id', 'b' || i, 'slug', 'b' || i,
			'name', 'Brain ' || i, 'visibility', 'private', 'created_at', '2026-01-01T00:00:00Z'))
		FROM generate_series(1, 100000) i RETURNING uid, id),
	h AS (INSERT INTO evalctl.heads (brain) SELECT uid FROM b)
	INSERT INTO evalctl.names (tenant, name, uid) SELECT '', id, uid FROM b`

// BenchmarkManyBrains measures the start of a replica and requests that are about all brains, with
// 100,000 of them.
func BenchmarkManyBrains(b *testing.B) {
	database := postgrestest.Database(b)
	r := startReplicaOn(b, database)
	conn, err := pgx.Connect(b.Context(), database)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close(b.Context())
	for _, statement := range []string{manyBrains, "VACUUM ANALYZE evalctl.brains"} {
		if _, err := conn.Exec(b.Context(), statement); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("start", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, err := daemon.New(b.Context(), daemon.Config{Store: database, Reader: llm.NewFake(), ReaderModel: llm.FakeModel})
			if err == nil {
				err = d.Close()
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, path := range []string{"/metrics", "/v1/brains?limit=10", "/v1/brains"} {
		b.Run(path[1:], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.expect(http.StatusOK, "GET", path, "")
			}
		})
	}
}
