package distill_test

import (
	"testing"

	"go.uber.org/goleak"

	"evalctl/daemon/distill"
	"evalctl/internal/llm"
	"evalctl/internal/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func fake(t testing.TB) *distill.Distiller {
	t.Helper()
	d, err := distill.New(llm.NewFake(), llm.FakeModel)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// scripted returns a distiller over HTTP whose model replies as scripted.
func scripted(t testing.TB, replies ...llmtest.Reply) (*distill.Distiller, *llmtest.Server) {
	t.Helper()
	return served(t, llmtest.Script(replies...))
}

func served(t testing.TB, reply func(llmtest.Call) llmtest.Reply) (*distill.Distiller, *llmtest.Server) {
	t.Helper()
	srv := llmtest.NewServer(t, reply)
	p, err := llm.Open(llm.Config{Provider: llm.ProviderOpenAI, Model: "m", BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	d, err := distill.New(p, "m")
	if err != nil {
		t.Fatal(err)
	}
	return d, srv
}
