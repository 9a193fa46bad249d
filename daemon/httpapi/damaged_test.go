package httpapi

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

// damagedCatalog also has damaged brains, of which only some owners are known.
type damagedCatalog struct {
	brain.MemoryCatalog
	owners map[string]string // by id
}

func (c *damagedCatalog) Load(context.Context) ([]brain.Record, error) {
	var records []brain.Record
	for id, owner := range c.owners {
		records = append(records, brain.Record{
			Brain: protocol.Brain{ID: id}, Tenant: owner,
			Damage: store.Damaged(nil, "brain %s is damaged: restore it", id),
		})
	}
	return records, nil
}

// TestWhoLearnsOfDamage: that a brain is damaged is not revealed to keys that may not use it.
func TestWhoLearnsOfDamage(t *testing.T) {
	catalog := &damagedCatalog{owners: map[string]string{"mine": "", "ours": "acme", "lost": ""}}
	s := startConfig(t, brain.Config{Catalog: catalog}, fakeReader(), keysOf(t, testKeys))
	for _, tt := range []struct {
		key, brain string
		status     int
	}{
		{"reader", "ours", 503}, {"other", "ours", 403}, {"listed", "ours", 403},
		{"listed", "mine", 503}, {"reader", "mine", 403}, // named on the key
		{"admin", "lost", 503}, {"other", "lost", 503}, {"writer", "lost", 403}, {"listed", "lost", 403},
	} {
		for _, path := range []string{"", "/documents?dir=", "/search?q=x"} {
			got := s.expect(t, tt.status, http.MethodGet, "/v1/brains/"+tt.brain+path, "", as(tt.key)...)
			if strings.Contains(got, "is damaged: restore it") != (tt.status == 503) {
				t.Errorf("%s of %s: %s", tt.key, tt.brain, got)
			}
		}
	}
	if got := s.expect(t, 200, http.MethodGet, "/v1/brains", "", as("admin")...); !strings.Contains(got, `"items":[]`) {
		t.Errorf("listed: %s", got)
	}
}
