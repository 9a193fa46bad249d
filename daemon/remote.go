package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"evalctl/daemon/brain"
	"evalctl/daemon/store"
	"evalctl/daemon/store/gitremote"
)

// newRemote returns nil if none is configured.
func newRemote(cfg GitConfig, logger *slog.Logger) *gitremote.Remote {
	if cfg.Remote == nil {
		return nil
	}
	return gitremote.New(gitremote.Options{
		Address: *cfg.Remote, Interval: cmp.Or(cfg.PullInterval, DefaultPullInterval), Logger: logger,
	})
}

// checkRemote returns an error if the remote cannot be reached and there is no brain to work with
// until it can.
func checkRemote(ctx context.Context, remote *gitremote.Remote, brains *brain.Service, logger *slog.Logger) error {
	err := remote.Check(ctx)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if n, countErr := brains.Count(ctx); countErr == nil && n > 0 {
		logger.Warn("the git remote cannot be reached: trying again when brains are opened", "because", err)
		return nil
	}
	return err
}

// owners is a catalog that remembers the tenants of its brains, whose names may be part of the
// address of a remote.
type owners struct {
	brain.Catalog
	// single permits one brain only, because the remote has room for one.
	single bool

	mu      sync.Mutex
	tenants map[string]string // by brain
}

func newOwners(c brain.Catalog, single bool) *owners {
	return &owners{Catalog: c, single: single, tenants: map[string]string{}}
}

// tenantOf returns the tenant of a brain.
func (o *owners) tenantOf(id string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tenants[id]
}

// Load implements brain.Catalog.
func (o *owners) Load(ctx context.Context) ([]brain.Record, error) {
	records, err := o.Catalog.Load(ctx)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range records {
		o.tenants[r.Brain.ID] = r.Tenant
	}
	if o.single && len(records) > 1 {
		return nil, fmt.Errorf("there are %d brains (%s), and the git remote has one branch: put {brain} in "+
			"its URL or its branch", len(records), strings.Join(slices.Sorted(maps.Keys(o.tenants)), ", "))
	}
	return records, nil
}

// Add implements brain.Catalog.
func (o *owners) Add(ctx context.Context, r brain.Record) (int64, error) {
	if err := o.claim(r); err != nil {
		return 0, err
	}
	uid, err := o.Catalog.Add(ctx, r)
	if err != nil {
		o.forget(r.Brain.ID)
	}
	return uid, err
}

// claim notes a brain before it is added.
func (o *owners) claim(r brain.Record) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, exists := o.tenants[r.Brain.ID]; exists {
		return fmt.Errorf("%w: %s", brain.ErrExists, r.Brain.ID)
	}
	if o.single && len(o.tenants) > 0 {
		return fmt.Errorf("%w: the git remote of this daemon has one branch, which is that of another brain", store.ErrConflict)
	}
	o.tenants[r.Brain.ID] = r.Tenant
	return nil
}

// Retire implements brain.Catalog.
func (o *owners) Retire(ctx context.Context, r brain.Record) (string, error) {
	retired, err := o.Catalog.Retire(ctx, r)
	if err == nil {
		o.forget(r.Brain.ID)
	}
	return retired, err
}

func (o *owners) forget(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.tenants, id)
}
