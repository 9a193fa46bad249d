package httpstore_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"evalctl/daemon/brain"
	"evalctl/daemon/client"
	"evalctl/daemon/httpapi"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/httpstore"
	"evalctl/daemon/store/memstore"
	"evalctl/daemon/store/storetest"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
)

func TestMain(m *testing.M) {
	longtest.Histories(12) // each step makes many requests
	goleak.VerifyTestMain(m)
}

var quiet = &store.Options{Logger: slog.New(slog.DiscardHandler)}

// daemon is the real API on a real socket. The stores are in memory.
type daemon struct {
	t      testing.TB
	client *client.Client
	brains *brain.Service
	api    *httpapi.API
	server *httptest.Server
	count  atomic.Int64
}

func startDaemon(t testing.TB) *daemon {
	t.Helper()
	brains, err := brain.Open(t.Context(), brain.Config{
		Catalog:   new(brain.MemoryCatalog),
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(quiet), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	memories, err := memory.New(memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	api := httpapi.New(httpapi.Config{Brains: brains, Memory: memories})
	d := &daemon{t: t, brains: brains, api: api, server: httptest.NewServer(api)}
	if d.client, err = client.New(d.server.URL, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		api.Stop()
		d.client.Close()
		d.server.Close()
		if err := brains.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// brain creates a brain.
func (d *daemon) brain() *client.Brain {
	d.t.Helper()
	id := fmt.Sprintf("brain-%d", d.count.Add(1))
	if _, err := d.client.CreateBrain(d.t.Context(), protocol.CreateBrain{ID: id}); err != nil {
		d.t.Fatal(err)
	}
	return d.client.Brain(id)
}

func (d *daemon) open(*testing.T) *store.Store { return httpstore.Open(d.brain(), quiet) }

func TestContract(t *testing.T) { storetest.Run(t, startDaemon(t).open) }

func TestModel(t *testing.T) { storetest.RunModel(t, startDaemon(t).open) }
