// Package budget bounds the memory and the time of all conversions of a process together.
//
// A conversion begins in the small lane, where several run at a time with little memory each. If it
// needs more, it leaves and begins again in the large lane, where few run with much memory. So
// files made to exhaust the memory wait for each other, and other files do not wait for them. In
// both lanes the tenants take turns, and none may have every place.
package budget

import (
	"context"
	"errors"
	"runtime"
	"time"

	"evalctl/internal/admission"
)

const (
	// small is the memory that a conversion in the small lane may hold, in bytes.
	small = 16 << 20
	// The large lane allows large bytes and perByte more for each byte of the file, but not more
	// than largest: files of 25 MiB have to be converted, and need a multiple of their size.
	large   = 64 << 20
	perByte = 12
	largest = 384 << 20
	// largePlaces is how many conversions run in the large lane, of different tenants.
	largePlaces = 2
	queue       = 64
)

// Time bounds the time of a conversion, for work that the steps do not count: 5 s, and 1 s more for
// each MiB of the file.
func Time(size int) time.Duration {
	return 5*time.Second + time.Duration(size)*time.Second>>20
}

// Budget has the lanes of a process. It is safe for concurrent use.
type Budget struct{ small, large *admission.Gate }

// New returns a Budget for a number of processors.
func New(processors int) *Budget {
	places := min(max(2*processors, 4), 8)
	return &Budget{
		small: admission.New(admission.Config{Slots: places, PerTenant: places - 1, Queue: queue * places}),
		large: admission.New(admission.Config{Slots: largePlaces, PerTenant: 1, Queue: queue}),
	}
}

// Shared is the Budget of this process.
var Shared = New(runtime.GOMAXPROCS(0))

// Convert runs convert once the memory for it is free. Size is the size of the file; need is an
// estimate of the memory that the conversion holds, 0 if it is unknown. If convert returns
// ErrMemory, it may be called once more, with a Meter that allows more memory.
//
// The tenant is taken from the context, see For. Convert returns the error of convert or of ctx,
// context.DeadlineExceeded for a conversion that takes too long, or admission.ErrOverloaded if too
// many conversions wait.
func (b *Budget) Convert(ctx context.Context, size int, need int64, convert func(context.Context, *Meter) error) error {
	if need <= small {
		if err := b.run(ctx, b.small, small, size, convert); !errors.Is(err, ErrMemory) {
			return err
		}
	}
	return b.run(ctx, b.large, min(large+perByte*int64(size), largest), size, convert)
}

func (b *Budget) run(ctx context.Context, lane *admission.Gate, memory int64, size int, convert func(context.Context, *Meter) error) error {
	c, _ := ctx.Value(callerKey{}).(caller)
	leave, err := lane.Enter(ctx, c.tenant)
	for c.patient && errors.Is(err, admission.ErrOverloaded) && ctx.Err() == nil {
		leave, err = lane.Enter(ctx, c.tenant)
	}
	if err != nil {
		return err
	}
	defer leave()
	limited, cancel := context.WithTimeout(ctx, Time(size))
	defer cancel()
	err = convert(limited, NewMeter(limited, memory, size))
	if limited.Err() != nil {
		return limited.Err()
	}
	return err
}

type callerKey struct{}

// caller is the origin of a conversion, which its context has.
type caller struct {
	tenant  string
	patient bool
}

// For returns a context for the conversions of a tenant. Patient ones wait as long as it takes:
// they belong to jobs, for which no client waits.
func For(ctx context.Context, tenant string, patient bool) context.Context {
	return context.WithValue(ctx, callerKey{}, caller{tenant, patient})
}
