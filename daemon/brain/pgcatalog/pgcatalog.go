// Package pgcatalog keeps the records of brains in a PostgreSQL database, in which any number of
// daemons use them. pgstore.Schema defines the tables.
package pgcatalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres"
	"evalctl/internal/wakeup"
)

// Catalog is a brain.SharedCatalog. It is safe for concurrent use.
type Catalog struct {
	db     *pgstore.DB
	pool   *pgxpool.Pool // of db
	logger *slog.Logger

	stop    context.CancelFunc
	purging sync.WaitGroup
	wake    wakeup.Signal // while there may be retired brains
}

// New returns the catalog in a database, and takes ownership of the database. In the background it
// deletes the data of retired brains, whichever process has retired them. The caller must Close the
// catalog.
func New(db *pgstore.DB, logger *slog.Logger) *Catalog {
	ctx, stop := context.WithCancel(context.Background())
	c := &Catalog{db: db, pool: db.Pool(), logger: logger, stop: stop, wake: wakeup.New()}
	c.purging.Go(func() { c.purgeRetired(ctx) })
	return c
}

// Close ends the work in the background and closes the database. All stores of brains must be
// closed.
func (c *Catalog) Close() error {
	c.stop()
	c.purging.Wait()
	c.db.Close()
	return nil
}

// Ping returns an error if the database does not answer.
func (c *Catalog) Ping(ctx context.Context) error {
	return failed("ping the database", c.db.Ping(ctx))
}

// Metrics returns the metrics of the database.
func (c *Catalog) Metrics() []prometheus.Collector { return postgres.Metrics(c.pool) }

// answerWithin is how long a statement may take, including the wait for a connection. The server
// gives up earlier, unless it cannot be reached.
const answerWithin = 35 * time.Second

func limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, answerWithin)
}

// record is the content of the column record.
type record struct {
	Stored bool           `json:"stored,omitempty"`
	Brain  protocol.Brain `json:"brain"`
}

const columns = "b.uid, b.id, b.tenant, b.record"

// Load implements brain.Catalog.
func (c *Catalog) Load(ctx context.Context) ([]brain.Record, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	rows, err := c.pool.Query(ctx, "SELECT "+columns+" FROM evalctl.brains b")
	return collect("read the brains", rows, err)
}

// Select implements brain.SharedCatalog.
func (c *Catalog) Select(ctx context.Context, sel brain.Selection) ([]brain.Record, error) {
	return c.first(ctx, "list the brains", sel, "id")
}

// Oldest implements brain.SharedCatalog.
func (c *Catalog) Oldest(ctx context.Context, sel brain.Selection) (brain.Record, error) {
	const most = 10 // more than one, because damaged ones are passed over
	sel.Limit = most
	records, err := c.first(ctx, "find the oldest brain", sel, "uid")
	if err != nil {
		return brain.Record{}, err
	}
	for _, r := range records {
		if r.Damage == nil {
			return r, nil
		}
	}
	return brain.Record{}, brain.ErrNotFound
}

// first returns the brains in a selection, ascending by a column. It finds the first ones of each
// tenant in an index, which one condition for several tenants would prevent.
func (c *Catalog) first(ctx context.Context, what string, sel brain.Selection, column string) ([]brain.Record, error) {
	where, args := "true", []any{nil}
	if sel.Limit > 0 {
		args[0] = sel.Limit
	}
	if sel.IDs != nil {
		args = append(args, sel.IDs)
		where = fmt.Sprintf("s.id = ANY ($%d)", len(args))
	}
	from := "evalctl.brains s WHERE " + where
	if sel.Tenants != nil {
		args = append(args, sel.Tenants)
		from = fmt.Sprintf("unnest($%d::text[]) AS t (tenant), LATERAL (SELECT * FROM evalctl.brains s"+
			" WHERE s.tenant = t.tenant AND %s ORDER BY s.%s LIMIT $1) AS s", len(args), where, column)
	}
	ctx, cancel := limit(ctx)
	defer cancel()
	rows, err := c.pool.Query(ctx, "SELECT s.uid, s.id, s.tenant, s.record FROM "+from+
		" ORDER BY s."+column+", s.tenant LIMIT $1", args...)
	return collect(what, rows, err)
}

// Count implements brain.SharedCatalog.
func (c *Catalog) Count(ctx context.Context) (n int, err error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	err = c.pool.QueryRow(ctx, "SELECT count(*) FROM evalctl.brains").Scan(&n)
	return n, failed("count the brains", err)
}

// Damaged implements brain.SharedCatalog. It finds records that lack fields.
func (c *Catalog) Damaged(ctx context.Context) ([]brain.Record, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	rows, err := c.pool.Query(ctx, "SELECT "+columns+` FROM evalctl.brains b, LATERAL (SELECT record->'brain' AS r) AS f
		WHERE r->>'id' IS DISTINCT FROM id OR json_typeof(r->'slug') IS DISTINCT FROM 'string'
		OR json_typeof(r->'name') IS DISTINCT FROM 'string'`)
	records, err := collect("look for damaged brains", rows, err)
	return slices.DeleteFunc(records, func(r brain.Record) bool { return r.Damage == nil }), err
}

// Lookup implements brain.SharedCatalog. It is one round trip.
func (c *Catalog) Lookup(ctx context.Context, tenant, name string) ([]brain.Record, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	query := "SELECT " + columns + " FROM evalctl.names n JOIN evalctl.brains b ON b.uid = n.uid" +
		" WHERE n.tenant IN ($1, '') AND n.name = $2"
	if tenant == "" {
		query += " UNION ALL SELECT " + columns + " FROM evalctl.brains b WHERE b.id = $2 AND b.tenant <> $1"
	}
	rows, err := c.pool.Query(ctx, query, tenant, name)
	return collect("look up a brain", rows, err)
}

func collect(what string, rows pgx.Rows, err error) ([]brain.Record, error) {
	if err != nil {
		return nil, failed(what, err)
	}
	records, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (brain.Record, error) {
		var r brain.Record
		var id string
		var data []byte
		if err := row.Scan(&r.UID, &id, &r.Tenant, &data); err != nil {
			return r, err
		}
		var stored record
		err := json.Unmarshal(data, &stored)
		if err == nil && stored.Brain.ID != id {
			err = fmt.Errorf("names brain %q", stored.Brain.ID)
		}
		if err != nil {
			r.Damage = store.Damaged(err, "the record of brain %s, uid %d of the table evalctl.brains, is damaged: "+
				"restore it from a backup", id, r.UID)
		}
		r.Brain, r.Stored = stored.Brain, stored.Stored
		r.Brain.ID = id
		return r, nil
	})
	return records, failed(what, err)
}

// Add implements brain.Catalog. An id or a name that is taken is brain.ErrExists.
func (c *Catalog) Add(ctx context.Context, r brain.Record) (brain.Record, error) {
	data, err := encode(r)
	if err != nil {
		return brain.Record{}, err
	}
	// Sorted, so that two processes that add brains with each other's names do not wait for each
	// other.
	names := []string{r.Brain.ID}
	if r.Brain.Slug != r.Brain.ID {
		names = append(names, r.Brain.Slug)
	}
	sort.Strings(names)
	ctx, cancel := limit(ctx)
	defer cancel()
	err = c.pool.QueryRow(ctx, `
		WITH brain AS (INSERT INTO evalctl.brains (uid, id, tenant, record) OVERRIDING SYSTEM VALUE
		     VALUES (`+newUID+`, $1, $2, $3) RETURNING uid),
		     head AS (INSERT INTO evalctl.heads (brain) SELECT uid FROM brain),
		     name AS (INSERT INTO evalctl.names (tenant, name, uid) SELECT $2, n, uid FROM brain, unnest($4::text[]) n)
		SELECT uid FROM brain`, r.Brain.ID, r.Tenant, data, names).Scan(&r.UID)
	if postgres.IsCode(err, uniqueViolation) {
		return brain.Record{}, fmt.Errorf("%w: %s", brain.ErrExists, r.Brain.ID)
	}
	return r, failed("add a brain", unknownOutcome(err))
}

// newUID is the key of a new brain. A sequence alone would repeat a key if the last brains are lost
// with the server, or if an older state of the database is restored. Replicas that know the lost
// brain would take the new one for it. So the key begins with the time, in milliseconds.
const newUID = `((extract(epoch FROM clock_timestamp()) * 1000)::bigint << 20) |
	(nextval(pg_get_serial_sequence('evalctl.brains', 'uid')) & 1048575)`

const uniqueViolation = "23505"

func encode(r brain.Record) ([]byte, error) {
	return json.Marshal(record{Stored: r.Stored, Brain: r.Brain})
}

// Update implements brain.Catalog.
func (c *Catalog) Update(ctx context.Context, r brain.Record) error {
	data, err := encode(r)
	if err != nil {
		return err
	}
	ctx, cancel := limit(ctx)
	defer cancel()
	tag, err := c.pool.Exec(ctx, "UPDATE evalctl.brains SET record = $2 WHERE uid = $1", r.UID, data)
	if err == nil && tag.RowsAffected() == 0 {
		return notFound(r)
	}
	return failed("update a brain", unknownOutcome(err))
}

func notFound(r brain.Record) error {
	return fmt.Errorf("%w: %s: it was deleted by another replica", brain.ErrNotFound, r.Brain.ID)
}

// Retire implements brain.Catalog. It waits for the mutation of the brain that is being committed.
// Every later one finds that the brain is gone.
func (c *Catalog) Retire(ctx context.Context, r brain.Record) (string, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	tag, err := c.pool.Exec(ctx, `
		WITH brain AS (DELETE FROM evalctl.brains WHERE uid = $1 RETURNING uid),
		     head AS (DELETE FROM evalctl.heads WHERE brain IN (SELECT uid FROM brain))
		INSERT INTO evalctl.retired (uid) SELECT uid FROM brain`, r.UID)
	if err != nil {
		return "", failed("delete a brain", unknownOutcome(err))
	}
	if tag.RowsAffected() == 0 {
		return "", notFound(r)
	}
	c.db.Notify(r.Key())
	return r.Key(), nil
}

// Purge implements brain.Catalog. It leaves the work to the background of some process, and returns
// at once.
func (c *Catalog) Purge(context.Context, string) error {
	c.wake.Set()
	return nil
}

// Watch implements brain.SharedCatalog.
func (c *Catalog) Watch(ctx context.Context, changed func()) {
	stop := c.db.Listen(func(string) { changed() })
	defer stop()
	<-ctx.Done()
}

// Missing implements brain.SharedCatalog.
func (c *Catalog) Missing(ctx context.Context, uids []int64) ([]int64, error) {
	ctx, cancel := limit(ctx)
	defer cancel()
	rows, err := c.pool.Query(ctx, "SELECT u FROM unnest($1::bigint[]) u"+
		" WHERE NOT EXISTS (SELECT FROM evalctl.brains WHERE uid = u)", uids)
	if err != nil {
		return nil, failed("look for deleted brains", err)
	}
	missing, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	return missing, failed("look for deleted brains", err)
}

// unknownOutcome adds to the error of a statement that it may have been executed nevertheless.
func unknownOutcome(err error) error {
	if _, refused := errors.AsType[*pgconn.PgError](err); err == nil || refused || pgconn.SafeToRetry(err) {
		return err
	}
	if !postgres.Retryable(err) && !errors.Is(err, context.Canceled) {
		return err
	}
	return store.Unavailable(err, "the connection to the database was lost: it is unknown whether the "+
		"brain was changed: look it up, then try again")
}

// failed adds the name of the operation, and marks errors after which the same may succeed later.
func failed(what string, err error) error {
	err = postgres.Line(err)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, context.Canceled):
		return err
	}
	return pgstore.Unavailable(fmt.Errorf("%s: %w", what, err))
}
