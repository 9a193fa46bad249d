package daemon

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
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
// meanwhile.
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

// oneBrain is a catalog with at most one brain, because the git remote has room for one.
type oneBrain struct {
	brain.Catalog

	mu    sync.Mutex
	taken bool
}

// Load implements brain.Catalog.
func (o *oneBrain) Load(ctx context.Context) ([]brain.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	records, err := o.Catalog.Load(ctx)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, r := range records {
		ids = append(ids, r.Brain.ID)
	}
	if len(ids) > 1 {
		slices.Sort(ids)
		return nil, fmt.Errorf("there are %d brains (%s), and the git remote has one branch: put {brain} in "+
			"its URL or its branch", len(ids), strings.Join(ids, ", "))
	}
	o.taken = len(ids) == 1
	return records, nil
}

// Add implements brain.Catalog.
func (o *oneBrain) Add(ctx context.Context, r brain.Record) (brain.Record, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.taken {
		return brain.Record{}, fmt.Errorf("%w: the git remote of this daemon has one branch, which belongs to another brain", store.ErrConflict)
	}
	added, err := o.Catalog.Add(ctx, r)
	o.taken = err == nil
	return added, err
}

// Retire implements brain.Catalog.
func (o *oneBrain) Retire(ctx context.Context, r brain.Record) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	retired, err := o.Catalog.Retire(ctx, r)
	if err == nil || retired != "" {
		o.taken = false
	}
	return retired, err
}
