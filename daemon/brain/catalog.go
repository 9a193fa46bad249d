package brain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"evalctl/daemon/protocol"
)

// Record is the entry of a brain in a Catalog.
type Record struct {
	Brain protocol.Brain
	// UID is the number that the catalog has given to the brain. It is never given to another
	// brain, even one with the same id. It is 0 in a Folder catalog.
	UID int64
	// Folder is the name of the brain's folder in a Folder catalog. It is empty if the name is the
	// brain's id, and differs if a brain of another tenant has that folder.
	Folder string
	// Tenant owns the brain. It is empty for a brain that was created while the
	// daemon ran without keys.
	Tenant string
	// Stored means that the store of the brain has been opened, so a missing store means missing
	// documents.
	Stored bool
	// Damage is why the brain cannot be used: a store.UnusableError. A damaged record has the
	// brain's id, and its other fields only as far as they could be read. Only Load returns such
	// records.
	Damage error
}

// Key returns the name of the brain's data, such as its store and its snapshot: the decimal UID, or
// the name of its folder, or the id. It is unique in the catalog.
func (r Record) Key() string {
	if r.UID != 0 {
		return strconv.FormatInt(r.UID, 10)
	}
	return cmp.Or(r.Folder, r.Brain.ID)
}

// Catalog keeps the records of brains. Folder and MemoryCatalog implement it; package braintest has
// the tests that every implementation must pass.
//
// A Service is the only user of its catalog, unless the catalog is a SharedCatalog. It calls Load
// once, before anything else, and Close last; it does not load a SharedCatalog. The other methods
// must be safe for concurrent use, but there is one call at a time for an id of a tenant. The
// service checks slugs: a catalog that is not shared only has to keep the ids of a tenant unique.
type Catalog interface {
	// Load returns all records, in any order. It returns an unreadable record with its Damage, so
	// that the other brains remain usable. An error means that the brains cannot be listed.
	Load(ctx context.Context) ([]Record, error)
	// Add adds a record, and returns it with the UID or the Folder that it gave to the brain.
	// Without an error, the record is as durable as the catalog can make it. An id of another
	// brain of the tenant is ErrExists. After another error the service treats the brain as not
	// created. If it was added nevertheless, its id stays taken, and the next Load returns it. A
	// crash of the machine may also bring back a brain whose addition was undone because a sync
	// had failed.
	Add(ctx context.Context, r Record) (Record, error)
	// Update replaces the record of the brain, as durably as Add. A brain that is not in the
	// catalog is an error. After an error the catalog has the old or the new record.
	Update(ctx context.Context, r Record) error
	// Retire takes a brain out of the catalog in one step, so that Load no longer returns it and
	// its id is free. r is a record from Add or Load. It returns an opaque name for Purge. A
	// brain that is not in the catalog is an error. After an error with a name the brain is
	// retired, but not durably, as when only the last sync failed: a crash of the machine may
	// bring it back. It is not to be purged, because it should be complete then. The next Load
	// deletes its data. After an error without a name the service treats the brain as not
	// deleted.
	Retire(ctx context.Context, r Record) (retired string, err error)
	// Purge deletes the data of a retired brain. It may take long. Load deletes the remaining data.
	Purge(ctx context.Context, retired string) error
	// Close releases the catalog.
	Close() error
}

// Selection is a set of brains. The zero value is all of them.
type Selection struct {
	Tenants []string // of one of these tenants; nil: of any
	IDs     []string // with one of these ids; nil: with any
	Limit   int      // the first so many, ascending by id; 0: all
}

// includes reports whether a brain is in the selection if there is no limit.
func (sel Selection) includes(r Record) bool {
	return (sel.Tenants == nil || slices.Contains(sel.Tenants, r.Tenant)) &&
		(sel.IDs == nil || slices.Contains(sel.IDs, r.Brain.ID))
}

// SharedCatalog is a Catalog that other processes use at the same time. All of its methods may be
// called at any time. It gives UIDs to brains, in ascending order, and keeps the names of a
// tenant's brains unique: Add returns ErrExists also if an id or a slug is the id or the slug of
// another brain of the tenant. Retire returns ErrNotFound for a brain that another process has
// retired.
type SharedCatalog interface {
	Catalog
	// Lookup returns the brains that a name can refer to: brains of the tenant, and of none, with
	// this id or slug. If tenant is empty, it also returns the brains of all tenants with this id.
	Lookup(ctx context.Context, tenant, name string) ([]Record, error)
	// Select returns the records of the brains in a selection, ascending by id and tenant,
	// including damaged ones.
	Select(ctx context.Context, sel Selection) ([]Record, error)
	// Oldest returns the record of the brain in a selection that was added first and is not
	// damaged, or ErrNotFound.
	Oldest(ctx context.Context, sel Selection) (Record, error)
	// Damaged returns the damaged records that can be found without reading all of them.
	Damaged(ctx context.Context) ([]Record, error)
	// Count returns the number of brains.
	Count(ctx context.Context) (int, error)
	// Missing returns the UIDs whose brains are not in the catalog.
	Missing(ctx context.Context, uids []int64) ([]int64, error)
	// Watch calls changed soon after any process has retired a brain, and whenever it may have
	// missed that. It returns when ctx ends.
	Watch(ctx context.Context, changed func())
}

// ErrNoSnapshot is returned by Snapshots.Get for a brain without a snapshot.
var ErrNoSnapshot = errors.New("no snapshot")

// ErrSnapshotBusy is returned by Snapshots.Put while another process writes a snapshot.
var ErrSnapshotBusy = errors.New("another process is writing a snapshot")

// NewerSnapshotError is returned by Snapshots.Put if it keeps a snapshot because it is newer than
// the one to be replaced.
type NewerSnapshotError struct {
	Seq uint64 // of the snapshot that is kept
}

func (e *NewerSnapshotError) Error() string {
	return fmt.Sprintf("there is a newer snapshot, of commit %d", e.Seq)
}

// Snapshots keeps the latest snapshot of each brain's search index, by the brain's Record.Key. A
// snapshot is derived from the brain's documents and may be lost. Package braintest has the tests
// that every implementation must pass.
//
// The methods must be safe for concurrent use, but a Service makes one call at a time for a key. An
// implementation that several processes share keeps the number of the commit with a snapshot;
// others may ignore it.
type Snapshots interface {
	// Get calls read with the snapshot of a brain, its size in bytes and the number of its last
	// commit, 0 if unknown. It returns read's error. The reader is valid until read returns.
	// Without a snapshot, Get returns ErrNoSnapshot and does not call read.
	Get(ctx context.Context, key string, read func(r io.ReaderAt, size int64, seq uint64) error) error
	// Put replaces the snapshot of a brain by the output of write, which has the commits up to seq.
	// If write fails, Put returns its error and keeps the previous snapshot. If the previous
	// snapshot has a commit after replaces, or another process is writing one, Put keeps it and
	// returns a *NewerSnapshotError or ErrSnapshotBusy, without calling write.
	Put(ctx context.Context, key string, seq, replaces uint64, write func(w io.Writer) error) error
	// Remove removes the snapshot of a brain, if there is one.
	Remove(ctx context.Context, key string) error
}

// MemoryCatalog is a Catalog that lasts as long as the value. The zero value is
// empty and ready to use.
type MemoryCatalog struct {
	mu      sync.Mutex
	last    int64 // UID
	records map[ownName]Record
}

// Load implements Catalog.
func (c *MemoryCatalog) Load(context.Context) ([]Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Values(c.records)), nil
}

// Add implements Catalog.
func (c *MemoryCatalog) Add(_ context.Context, r Record) (Record, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.records[idOf(r)]; taken {
		return Record{}, fmt.Errorf("%w: %s", ErrExists, r.Brain.ID)
	}
	if c.records == nil {
		c.records = map[ownName]Record{}
	}
	c.last++
	r.UID = c.last
	c.records[idOf(r)] = r
	return r, nil
}

// Update implements Catalog.
func (c *MemoryCatalog) Update(_ context.Context, r Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.records[idOf(r)]; !ok {
		return fmt.Errorf("brain %s is not in the catalog", r.Brain.ID)
	}
	c.records[idOf(r)] = r
	return nil
}

// Retire implements Catalog. It leaves nothing for Purge.
func (c *MemoryCatalog) Retire(_ context.Context, r Record) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.records[idOf(r)]; !ok {
		return "", fmt.Errorf("brain %s is not in the catalog", r.Brain.ID)
	}
	delete(c.records, idOf(r))
	return "", nil
}

// Purge implements Catalog.
func (*MemoryCatalog) Purge(context.Context, string) error { return nil }

// Close implements Catalog. The catalog keeps its records.
func (*MemoryCatalog) Close() error { return nil }
