package memory

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/llm"
	"evalctl/internal/longtest"
	"evalctl/internal/postgres/postgrestest"
)

// children are what the test binary does instead of the tests, by the environment variable that
// asks for it. They get its value.
var children = map[string]func(string) int{
	sessionCrashEnv:     func(value string) int { return addUntilKilled(value, user) },
	extractCrashEnv:     func(value string) int { return addUntilKilled(value, final) },
	consolidateCrashEnv: consolidateUntilKilled,
	replicaCrashEnv:     workUntilKilled,
}

func TestMain(m *testing.M) {
	for env, work := range children {
		if value := os.Getenv(env); value != "" {
			os.Exit(work(value))
		}
	}
	longtest.Parallel(5) // most slow tests wait for a lease
	goleak.VerifyTestMain(withPostgres{m})
}

// withPostgres stops the server of the tests after them.
type withPostgres struct{ tests *testing.M }

func (w withPostgres) Run() int { return postgrestest.Main(w.tests) }

var epoch = time.Date(2024, 5, 1, 12, 0, 0, 123_456_789, time.UTC)

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// fixture is a Service and a brain "eval" for it, on a clock that stands still.
type fixture struct {
	*Service
	brains *brain.Service
	brain  brain.Handle
}

func open(t testing.TB) *fixture { return openWith(t, brain.Config{}, Config{}) }

// openWith fills in what the configurations leave open.
func openWith(t testing.TB, brains brain.Config, cfg Config) *fixture {
	t.Helper()
	now := func() time.Time { return epoch }
	if brains.Now == nil {
		brains.Now = now
	}
	cfg.Now = now
	if brains.OpenStore == nil {
		brains.Catalog = new(brain.MemoryCatalog)
		brains.OpenStore = func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(nil), nil }
	}
	if cfg.Reader == nil {
		cfg.Reader, cfg.Model = llm.NewFake(), llm.FakeModel
	}
	f := &fixture{}
	var err error
	if f.Service, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	brains.SearchWait = time.Hour
	if f.brains, err = brain.Open(t.Context(), brains); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.Close()
		if err := f.brains.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = f.brains.Create(t.Context(), "", protocol.CreateBrain{ID: "eval"})
	if err != nil && !errors.Is(err, brain.ErrExists) { // kept from an earlier opening
		t.Fatal(err)
	}
	if err := f.brains.Refresh(t.Context(), "", "eval"); err != nil {
		t.Fatal(err)
	}
	if f.brain, err = f.brains.Find("eval"); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) store(t testing.TB) *store.Store {
	t.Helper()
	st, err := f.brain.Store(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func (f *fixture) put(t testing.TB, path, text string) {
	t.Helper()
	if err := f.store(t).Write(t.Context(), path, []byte(text)); err != nil {
		t.Fatal(err)
	}
}

func isArgument(err error, name string) bool {
	e, ok := errors.AsType[*ArgumentError](err)
	return ok && e.Name == name
}
