package memstore_test

import (
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/daemon/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(*testing.T) *store.Store {
	return memstore.Open(&store.Options{Logger: slog.New(slog.DiscardHandler)})
}

func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestModel(t *testing.T) { storetest.RunModel(t, open) }
