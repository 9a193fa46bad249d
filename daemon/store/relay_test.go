package store_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
)

// TestRelay: sinks hear both stores, in order, past a sink that panics and until they
// cancel.
func TestRelay(t *testing.T) {
	var log bytes.Buffer
	relay := store.NewRelay(slog.New(slog.NewTextHandler(&log, nil)))
	var got []string
	cancelFirst := relay.Subscribe(func(e store.ChangeEvent) { got = append(got, "first "+e.Path) })
	cancelPanic := relay.Subscribe(func(store.ChangeEvent) { panic("broken sink") })
	relay.Subscribe(func(e store.ChangeEvent) { got = append(got, "last "+e.Path) })

	one, two := memstore.Open(nil), memstore.Open(nil)
	defer one.Close()
	defer two.Close()
	one.Subscribe(relay.Publish)
	two.Subscribe(relay.Publish)
	for i, s := range []*store.Store{one, two, one} {
		if i == 2 {
			cancelFirst()
			cancelPanic()
		}
		if err := s.Write(t.Context(), fmt.Sprint(i), nil); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[first 0 last 0 first 1 last 1 last 2]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if n := strings.Count(log.String(), "broken sink"); n != 2 {
		t.Errorf("logged %d panics, want 2: %s", n, &log)
	}
}
