package daemon

import (
	"errors"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

func record(id, tenant string) brain.Record {
	return brain.Record{Brain: protocol.Brain{ID: id, Slug: id, Name: id}, Tenant: tenant}
}

// TestSingleBrain: where the remote has room for one brain, there is no second one.
func TestSingleBrain(t *testing.T) {
	ctx := t.Context()
	catalog := new(brain.MemoryCatalog)
	o := newOwners(catalog, true)
	if _, err := o.Load(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Add(ctx, record("a", "acme")); err != nil || o.tenantOf("a") != "acme" {
		t.Fatalf("tenant %q, %v", o.tenantOf("a"), err)
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
	if _, err := newOwners(catalog, true).Load(ctx); err == nil || !strings.Contains(err.Error(), "there are 2 brains (b, c)") {
		t.Errorf("two brains: %v", err)
	}
	several := newOwners(catalog, false)
	if _, err := several.Load(ctx); err != nil || several.tenantOf("b") != "acme" {
		t.Errorf("%v, tenant %q", err, several.tenantOf("b"))
	}
	if _, err := several.Add(ctx, record("b", "x")); !errors.Is(err, brain.ErrExists) || several.tenantOf("b") != "acme" {
		t.Errorf("a brain that exists: %v", err)
	}
}
