package brain

import (
	"context"
	"log/slog"
	"time"

	"evalctl/daemon/language"
	"evalctl/daemon/search"
	"evalctl/daemon/store"
)

// DefaultSearchWait is the default of IndexConfig.SearchWait. It is enough to build the index of a
// small brain even if the processors are busy, and a fraction of the time that clients wait (spec
// 8).
const DefaultSearchWait = 5 * time.Second

// Config configures a Service. Catalog and OpenStore are required.
type Config struct {
	// Catalog keeps the records of the brains. Open takes it over: Close closes it, as does Open if
	// it fails.
	Catalog Catalog
	// Snapshots keeps snapshots of large indexes; nil builds each index from its
	// documents.
	Snapshots Snapshots
	// Leases divides work among the processes that use the brains; nil means that there are no
	// others. Open takes it over as it does Catalog.
	Leases Leases
	// OpenStore opens the documents of an existing brain. There is at most one call at a time for a
	// Record.Key. The service closes the returned store.
	OpenStore func(ctx context.Context, r Record) (*store.Store, error)
	// HasStore reports whether any data of the store of a brain is left. It is called before a
	// store is opened again, because opening would otherwise create an empty one in the place of
	// vanished documents. Nil does not check that.
	HasStore func(key string) (bool, error)
	// Persistent means that a closed store can be opened again with its documents. Without it a
	// store is closed only when it is damaged, when its brain is deleted or when the service
	// closes.
	Persistent bool
	// OpenStores limits the number of open stores; 0 means DefaultOpenStores. Beyond it, the stores
	// that were unused for the longest time are closed. The limit does not apply to acquired
	// brains, and only to Persistent ones.
	OpenStores int
	IndexConfig
	// Logger receives damaged stores and unusable index snapshots. Nil discards them.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// IndexConfig configures the search indexes of the brains.
type IndexConfig struct {
	// Search configures the embedder and the reranker; the zero value ranks by
	// BM25 only.
	Search search.Config
	// ChunkSize is the largest size of a passage, see search.Options, from document.MinChunkSize
	// to document.MaxChunkSize; 0 means 1600.
	ChunkSize int
	// Language is the language of documents that do not name theirs. With language.None it is
	// detected.
	Language language.Language
	// SearchWait limits how long a search waits for the documents and the index of its brain; 0 means
	// DefaultSearchWait.
	SearchWait time.Duration
	// IndexMemory limits the memory of all indexes together, in bytes; 0 means DefaultIndexMemory.
	// Beyond it, the indexes that were not searched for the longest time are dropped, except the
	// last searched one and those that searches wait for. The next search of a brain builds its
	// index again.
	IndexMemory int64
}
