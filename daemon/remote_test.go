package daemon

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/gitremote"
)

func record(id, tenant string) brain.Record {
	return brain.Record{Brain: protocol.Brain{ID: id, Slug: id, Name: id}, Tenant: tenant}
}

// TestSingleBrain: where the remote has room for one brain, there is no second one.
func TestSingleBrain(t *testing.T) {
	ctx := t.Context()
	catalog := new(brain.MemoryCatalog)
	o := &oneBrain{Catalog: catalog}
	if _, err := o.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Add(ctx, record("a", "acme")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Add(ctx, record("b", "acme")); !errors.Is(err, store.ErrConflict) || strings.Contains(err.Error(), "acme") {
		t.Errorf("a second brain: %v", err)
	}
	if _, err := o.Retire(ctx, record("a", "acme")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Add(ctx, record("b", "acme")); err != nil {
		t.Errorf("after the deletion of the first one: %v", err)
	}
	if _, err := catalog.Add(ctx, record("c", "")); err != nil {
		t.Fatal(err)
	}
	if _, err := (&oneBrain{Catalog: catalog}).Load(ctx); err == nil || !strings.Contains(err.Error(), "there are 2 brains (b, c)") {
		t.Errorf("two brains: %v", err)
	}
}

// unsyncedCatalog retires brains, but cannot sync that.
type unsyncedCatalog struct{ brain.MemoryCatalog }

func (c *unsyncedCatalog) Retire(ctx context.Context, r brain.Record) (string, error) {
	_, err := c.MemoryCatalog.Retire(ctx, r)
	return "retired", errors.Join(err, syscall.EIO)
}

// TestUnsyncedSingleBrain: the remote has room for another brain, since the first one is
// retired.
func TestUnsyncedSingleBrain(t *testing.T) {
	o := &oneBrain{Catalog: new(unsyncedCatalog)}
	if _, err := o.Add(t.Context(), record("a", "acme")); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Retire(t.Context(), record("a", "acme")); !errors.Is(err, syscall.EIO) {
		t.Errorf("got %v, want EIO", err)
	}
	if _, err := o.Add(t.Context(), record("b", "acme")); err != nil {
		t.Error(err)
	}
}

// TestRemoteOfATenant: the address of a remote has the tenant of the brain.
func TestRemoteOfATenant(t *testing.T) {
	repositories, home := t.TempDir(), t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "--bare", repositories+"/acme/a").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	address, err := gitremote.ParseAddress(repositories+"/{tenant}/{brain}", "", true)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Home: home, Store: StoreGit, Git: GitConfig{Remote: &address}}
	remote := newRemote(cfg.Git, slog.New(slog.DiscardHandler))
	defer remote.Close()
	brains, err := storage(t.Context(), cfg, remote, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer brains.Catalog.Close()
	for tenant, want := range map[string]error{"acme": nil, "other": gitremote.ErrUnreachable} {
		s, err := brains.OpenStore(t.Context(), record("a", tenant))
		if !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", tenant, err, want)
		}
		if s != nil {
			s.Close()
		}
		os.RemoveAll(home + "/brains/a")
	}
}
