package memory_test

import (
	"context"
	"errors"
	"testing"

	"evalctl/daemon/brain"
	"evalctl/daemon/memory"
	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
	"evalctl/daemon/store/memstore"
	"evalctl/internal/llm"
)

// operations are all operations on a brain.
var operations = map[string]func(context.Context, *memory.Service, brain.Handle) error{
	"search": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		_, err := s.Search(ctx, h, protocol.SearchRequest{Query: "walrus"})
		return err
	},
	"ask": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		return s.Ask(ctx, h, protocol.AskRequest{Question: "walrus"}, func(string, any) error { return nil })
	},
	"create document": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		_, err := s.CreateDocument(ctx, h, protocol.CreateDocument{Content: "planted"})
		return err
	},
	"document": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		_, err := s.Document(ctx, h, "a.md")
		return err
	},
	"delete document": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		return s.DeleteDocument(ctx, h, "a.md")
	},
	"job": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		_, err := s.Job(ctx, h, "none")
		return err
	},
	"consolidate": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		_, err := s.Consolidate(ctx, h, protocol.ConsolidateRequest{})
		return err
	},
	"documents": func(ctx context.Context, s *memory.Service, h brain.Handle) error {
		_, err := s.Documents(ctx, h, memory.DocumentPage{})
		return err
	},
}

func openBrains(t testing.TB) (*brain.Service, *memory.Service) {
	t.Helper()
	brains, err := brain.Open(t.Context(), brain.Config{
		Catalog:   new(brain.MemoryCatalog),
		OpenStore: func(context.Context, brain.Record) (*store.Store, error) { return memstore.Open(nil), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := brains.Close(); err != nil {
			t.Error(err)
		}
	})
	memories, err := memory.New(memory.Config{Reader: llm.NewFake(), Model: llm.FakeModel})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(memories.Close)
	return brains, memories
}

// newBrain creates the brain "notes" with one document.
func newBrain(t testing.TB, brains *brain.Service, text string) brain.Handle {
	t.Helper()
	_, err := brains.Create(t.Context(), "", protocol.CreateBrain{ID: "notes"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := brains.Find("notes")
	if err != nil {
		t.Fatal(err)
	}
	st, err := h.Store(t.Context())
	if err == nil {
		err = st.Write(t.Context(), "a.md", []byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestHandleOfADeletedBrain: a handle refers to one brain, not to its id.
func TestHandleOfADeletedBrain(t *testing.T) {
	brains, memories := openBrains(t)
	old := newBrain(t, brains, "walrus")
	walrus := protocol.SearchRequest{Query: "walrus planted"}
	if _, err := memories.Search(t.Context(), old, walrus); err != nil {
		t.Fatal(err)
	}
	if err := brains.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	other := newBrain(t, brains, "a walrus of another owner")
	for name, operate := range operations {
		if err := operate(t.Context(), memories, old); !errors.Is(err, brain.ErrNotFound) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got, err := memories.Search(t.Context(), other, walrus); err != nil || len(got.Chunks) != 1 {
		t.Errorf("the other brain contains %+v, %v", got.Chunks, err)
	}
}

func TestHandleOfAClosedService(t *testing.T) {
	brains, memories := openBrains(t)
	h := newBrain(t, brains, "walrus")
	if err := brains.Close(); err != nil {
		t.Fatal(err)
	}
	for name, operate := range operations {
		if err := operate(t.Context(), memories, h); !errors.Is(err, brain.ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestNewRequiresAReader(t *testing.T) {
	for _, cfg := range []memory.Config{{}, {Model: llm.FakeModel}, {Reader: llm.NewFake()}} {
		if _, err := memory.New(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
