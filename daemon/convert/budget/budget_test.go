package budget

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"evalctl/internal/admission"
)

func hold(n int64) func(context.Context, *Meter) error {
	return func(_ context.Context, m *Meter) error { return m.Hold(n) }
}

func TestLanes(t *testing.T) {
	b := New(2)
	for _, c := range []struct {
		size    int
		need, n int64
		fails   bool
	}{
		{n: small},
		{n: small + 1},
		{n: large},
		{n: large + 1, fails: true},
		{size: 1 << 20, n: large + perByte<<20},
		{size: 1 << 20, n: large + perByte<<20 + 1, fails: true},
		{size: 1 << 30, need: small + 1, n: largest},
		{size: 1 << 30, need: small + 1, n: largest + 1, fails: true},
	} {
		calls := 0
		err := b.Convert(t.Context(), c.size, c.need, func(ctx context.Context, m *Meter) error {
			calls++
			return hold(c.n)(ctx, m)
		})
		if errors.Is(err, ErrMemory) != c.fails || err != nil && !c.fails {
			t.Errorf("%d bytes of a file of %d: %v", c.n, c.size, err)
		}
		if again := c.n > small && c.need <= small; (calls == 2) != again {
			t.Errorf("%d bytes of a file of %d: %d calls", c.n, c.size, calls)
		}
	}
}

// One tenant has many large conversions, each of which takes as long as it may. They are done one
// at a time, and those of another tenant do not wait for them.
func TestTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(2)
		var running, shed, patient atomic.Int64
		slow := func(ctx context.Context, m *Meter) error {
			if err := m.Hold(small + 1); err != nil {
				return err
			}
			if running.Add(1) > 1 {
				t.Error("two run at a time")
			}
			<-ctx.Done()
			running.Add(-1)
			return ctx.Err()
		}
		hostile := For(t.Context(), "hostile", false)
		for range 2 * queue {
			go func() {
				if err := b.Convert(hostile, 0, 0, slow); errors.Is(err, admission.ErrOverloaded) {
					shed.Add(1)
				} else if !errors.Is(err, context.DeadlineExceeded) {
					t.Error(err)
				}
			}()
		}
		synctest.Wait()
		other := For(t.Context(), "other", false)
		start := time.Now()
		for _, n := range []int64{1, large} {
			if err := b.Convert(other, 0, 0, hold(n)); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("another tenant waited for %v", took)
		}
		for range 8 {
			go func() {
				if err := b.Convert(For(t.Context(), "hostile", true), 0, 0, slow); errors.Is(err, context.DeadlineExceeded) {
					patient.Add(1)
				}
			}()
		}
		time.Sleep(time.Hour)
		if shed.Load() == 0 || patient.Load() != 8 {
			t.Errorf("%d were shed, %d patient ones done", shed.Load(), patient.Load())
		}
	})
}

func TestMeter(t *testing.T) {
	m := NewMeter(t.Context(), 10, 0)
	if err := m.Hold(10); err != nil {
		t.Error(err)
	}
	m.Release(4)
	if got := m.Memory(); got != 4 {
		t.Errorf("%d bytes are left", got)
	}
	if err := m.Hold(5); !errors.Is(err, ErrMemory) || !errors.Is(m.Err(), ErrMemory) || m.Memory() != 0 {
		t.Errorf("got %v, then %v", err, m.Err())
	}
	m = NewMeter(t.Context(), 10, 1)
	if err := m.Step(minSteps + stepsPerByte); err != nil {
		t.Error(err)
	}
	if err := m.Step(stride); !errors.Is(err, ErrWork) {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := NewMeter(ctx, 10, 1).Step(stride); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestReadAll(t *testing.T) {
	text := strings.Repeat("0123456789", 100_000)
	m := NewMeter(t.Context(), 4<<20, 0)
	got, err := m.ReadAll(strings.NewReader(text))
	if err != nil || string(got) != text || m.Memory() != 4<<20-int64(len(text)) {
		t.Errorf("%d bytes, %v, %d are left", len(got), err, m.Memory())
	}
	endless := &countingReader{}
	if _, err := m.ReadAll(endless); !errors.Is(err, ErrMemory) || endless.n > 4<<20 {
		t.Errorf("%v after %d bytes", err, endless.n)
	}
	cut := io.MultiReader(bytes.NewReader([]byte("abc")), brokenReader{})
	if got, err := NewMeter(t.Context(), 4<<20, 0).ReadAll(cut); string(got) != "abc" || !errors.Is(err, errBroken) {
		t.Errorf("%q, %v", got, err)
	}
}

type countingReader struct{ n int }

func (r *countingReader) Read(p []byte) (int, error) { r.n += len(p); return len(p), nil }

var errBroken = errors.New("broken")

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errBroken }
