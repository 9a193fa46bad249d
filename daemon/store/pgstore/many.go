package pgstore

import (
	"context"

	"github.com/jackc/pgx/v5"

	"evalctl/daemon/store"
)

// ReadMany implements an optional method of store.Backend.
func (b *backend) ReadMany(ctx context.Context, paths []string, maxBytes int) (docs []store.Document, err error) {
	err = b.db.use(ctx, func(ctx context.Context, conn querier) error {
		docs, err = readMany(ctx, conn, b.brain, paths, maxBytes, nil)
		return err
	})
	return docs, err
}

// ReadMany implements store.Transaction.
func (tx *transaction) ReadMany(ctx context.Context, paths []string, maxBytes int) ([]store.Document, error) {
	limited, cancel := limit(ctx)
	defer cancel()
	docs, err := readMany(limited, tx.conn, tx.b.brain, paths, maxBytes, tx.known)
	return docs, failure(ctx, err)
}

// readMany returns ErrGone if the brain does not exist. The server adds up the sizes before it
// reads contents that are not in the rows themselves. Existing documents are added to known, if it
// is not nil. The server plans each call: a plan from a time when the tables were small could read
// all documents of a brain for each path.
func readMany(
	ctx context.Context, conn querier, brain int64, paths []string, maxBytes int, known map[string]description,
) ([]store.Document, error) {
	rows, err := conn.Query(ctx, `SELECT size, modified, version, data FROM (
			SELECT p.n, d.size, d.modified, d.version, d.data,
				sum(d.size) OVER (ORDER BY p.n ROWS UNBOUNDED PRECEDING) AS total
			FROM evalctl.heads h
			CROSS JOIN unnest($2::text[]) WITH ORDINALITY AS p (path, n)
			LEFT JOIN LATERAL (
				SELECT * FROM evalctl.documents WHERE brain = $1 AND path = p.path LIMIT 1 -- not the whole brain
			) d ON true
			WHERE h.brain = $1
		) r WHERE n = 1 OR coalesce(total, 0) <= $3 ORDER BY n`,
		pgx.QueryExecModeCacheDescribe, brain, paths, maxBytes)
	if err != nil {
		return nil, err
	}
	docs := make([]store.Document, 0, len(paths))
	var d description
	var data []byte
	_, err = pgx.ForEachRow(rows, []any{&d.size, &d.modified, &d.version, &data}, func() error {
		doc := store.Document{FileInfo: store.FileInfo{Path: paths[len(docs)]}}
		if info, err := d.info(doc.Path); err == nil {
			doc = store.Document{FileInfo: info, Content: string(data), Exists: true}
			if known != nil {
				known[doc.Path] = d
			}
		}
		docs = append(docs, doc)
		return nil
	})
	if err == nil && len(docs) == 0 && len(paths) > 0 {
		err = store.ErrGone
	}
	return docs, err
}
