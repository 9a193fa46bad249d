package ledger_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"evalctl/harness/ledger"
	"evalctl/internal/awaittest"
	"evalctl/internal/filetest"
	"evalctl/internal/llm"
)

// vendor is a model provider that answers, rejects, loses replies and reports wrong usage, and
// keeps its own bill. It bills at most one token for each byte and the tokens that a request
// allows.
type vendor struct {
	mu     sync.Mutex
	random *rand.Rand
	bill   llm.USD
	calls  int
	killAt int    // the call during which the process is killed
	dead   []byte // the ledger at that instant
	path   string
}

var errKilled = errors.New("killed")

func (*vendor) Name() string { return llm.ProviderOpenAI }

func (v *vendor) Complete(_ context.Context, r llm.Request) (llm.Response, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dead != nil {
		return llm.Response{}, errKilled
	}
	price, _ := llm.DefaultPrices().Of(llm.ProviderOpenAI, r.Model)
	u := llm.Usage{InputTokens: 1 + v.random.IntN(len(r.Messages[0].Content)), OutputTokens: v.random.IntN(r.MaxTokens + 1)}
	var resp llm.Response
	var err error
	switch v.random.IntN(8) {
	case 0: // rejected
		u, err = llm.Usage{}, &llm.Error{Provider: "openai", Status: 429}
	case 1: // lost
		err = &llm.Error{Provider: "openai", Billed: true}
	case 2:
		err = context.Canceled
	case 3: // uncounted
		resp.Usage = llm.Usage{InputTokens: 1, OutputTokens: 1, Estimated: true}
	case 4: // counts more than it bills
		resp.Usage = llm.Usage{InputTokens: u.InputTokens + v.random.IntN(10_000), OutputTokens: u.OutputTokens}
	default:
		resp.Usage = u
	}
	v.bill += price.Cost(u)
	if v.calls++; v.calls == v.killAt {
		v.dead, _ = os.ReadFile(v.path)
	}
	return resp, err
}

// TestSchedules: in 1,000 random schedules of concurrent calls, failures, lost replies, wrong usage
// and kills, the provider's bill stays within the cap and within what the ledger counts.
func TestSchedules(t *testing.T) {
	dir := t.TempDir()
	for seed := range uint64(1000) {
		schedule(t, dir, seed)
	}
}

func schedule(t *testing.T, dir string, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 9))
	limit := llm.Dollar / llm.USD(1+random.IntN(20))
	path := filepath.Join(dir, "schedule.ledger")
	l, err := ledger.Create(path, nil, started, &limit)
	if err != nil {
		t.Fatal(err)
	}
	v := &vendor{random: random, path: path}
	for kills := random.IntN(4); ; kills-- {
		v.mu.Lock()
		v.dead, v.calls, v.killAt = nil, 0, 0
		if kills > 0 {
			v.killAt = 1 + random.IntN(10)
		}
		v.mu.Unlock()
		work(t, l, v)
		addsUp(t, l, "ts", "go")
		if v.dead == nil {
			break
		}
		closed(t, l)
		filetest.Write(t, path, v.dead)
		l = reopen(t, path)
		addsUp(t, l, "ts", "go")
		if v.bill > l.Spent() || l.Spent() > limit {
			t.Fatalf("seed %d: after a kill: bill %s, spent %s, cap %s", seed, v.bill, l.Spent(), limit)
		}
	}
	if v.bill > limit || v.bill > l.Spent() || l.Spent() > limit {
		t.Fatalf("seed %d: bill %s, spent %s, cap %s", seed, v.bill, l.Spent(), limit)
	}
	if err := l.Remove(); err != nil {
		t.Fatal(err)
	}
}

const workers = 4

// work calls the model in all phases until the cap is reached or the process is killed.
func work(t *testing.T, l *ledger.Ledger, v *vendor) {
	var group sync.WaitGroup
	for i := range workers {
		group.Go(func() {
			m, err := metered(l, v, llm.DefaultPrices(), phases[i], []string{"ts", "go"}[i%2])
			if err != nil {
				t.Error(err)
				return
			}
			r := llm.Request{Model: model, MaxTokens: 500 * (i + 1),
				Messages: []llm.Message{{Role: "user", Content: strings.Repeat("x", 5000*(i+1))}}}
			for {
				_, err := m.Complete(t.Context(), r)
				if errors.Is(err, llm.ErrBudgetExceeded) || errors.Is(err, errKilled) {
					return
				}
			}
		})
	}
	awaittest.Wait(t, "group", group.Wait)
}

var phases = []ledger.Phase{ledger.Ingest, ledger.Actor, ledger.Judge, ledger.Embed}

// TestModel compares the ledger with plain sums. A kill drops what is not in the file.
func TestModel(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		path := filepath.Join(dir, "model.ledger")
		_ = os.Remove(path)
		limit := llm.USD(rapid.Int64Range(0, 1000).Draw(t, "cap"))
		l, err := ledger.Create(path, nil, started, &limit)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		type request struct {
			worst  llm.USD
			settle func(llm.Charge)
		}
		var spent, lost, reserved llm.USD
		var held []request
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				worst := llm.USD(rapid.Int64Range(0, 300).Draw(t, "worst"))
				if spent+worst <= limit && spent+reserved+worst > limit {
					t.Skip("would wait")
				}
				phase := rapid.SampledFrom(phases).Draw(t, "phase")
				settle, err := l.Account(phase, "go").Reserve(context.Background(), model, worst)
				if fits := spent+worst <= limit; fits != (err == nil) {
					t.Fatalf("spent %d, worst %d of %d: %v", spent, worst, limit, err)
				}
				if err == nil {
					reserved += worst
					held = append(held, request{worst, settle})
				}
			},
			"settle": func(t *rapid.T) {
				if len(held) == 0 {
					t.Skip("no request")
				}
				r := held[0]
				held = held[1:]
				actual := llm.USD(rapid.Int64Range(0, int64(r.worst)).Draw(t, "actual"))
				gone := llm.USD(rapid.Int64Range(0, int64(actual)).Draw(t, "lost"))
				r.settle(llm.Charge{Cost: actual, Lost: gone})
				reserved, spent, lost = reserved-r.worst, spent+actual, lost+gone
			},
			"kill": func(t *rapid.T) {
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				if l, err = ledger.Open(path); err != nil {
					t.Fatal(err)
				}
				spent, lost, reserved, held = spent+reserved, lost+reserved, 0, nil
			},
			"": func(t *rapid.T) {
				addsUp(t, l, "go")
				if c := l.Accounting("go"); l.Spent() != spent || c.LostUSD != lost || spent > limit {
					t.Fatalf("%+v, want spent %d, lost %d of %d", c, spent, lost, limit)
				}
			},
		})
	})
}
