package bench

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"evalctl/harness/bench/load"
)

// Server is a service in which requests wait for workers. It answers in the order in which requests
// come, and goes on with those whose client has given up.
type Server struct {
	Workers int
	Service time.Duration // of a request
	// Random is set if the time of a request is exponential with the mean Service.
	Random bool
	// Room is how many requests may wait. More are refused at once. 0 is for any number.
	Room int
	// Pause is how long no worker works, at the end of each time Every.
	Pause, Every time.Duration
	// Cold is how many requests take ten times as long at first.
	Cold int
}

// capacity returns how many requests a second the server answers in the long run.
func (s Server) capacity() float64 {
	rate := float64(s.Workers) / s.Service.Seconds()
	if s.Every > 0 {
		rate *= 1 - s.Pause.Seconds()/s.Every.Seconds()
	}
	return rate
}

var errFull = errors.New("the queue is full")

// Start starts the server. wait returns when a request is answered.
func (s Server) Start() (wait func() error) {
	var mu sync.Mutex
	began := time.Now()
	free := make([]time.Duration, s.Workers) // when workers are, since began
	var starts []time.Duration               // of requests that wait, ascending
	random := rand.New(rand.NewPCG(5, 6))
	served := 0
	return func() error {
		mu.Lock()
		now := time.Since(began)
		for len(starts) > 0 && starts[0] <= now {
			starts = starts[1:]
		}
		if s.Room > 0 && len(starts) >= s.Room {
			mu.Unlock()
			return errFull
		}
		takes := s.Service
		if s.Random {
			takes = time.Duration(random.ExpFloat64() * float64(s.Service))
		}
		if served++; served <= s.Cold {
			takes *= 10
		}
		i := slices.Index(free, slices.Min(free))
		start := max(now, free[i])
		free[i] = s.worked(start, takes)
		if start > now {
			starts = append(starts, start)
		}
		until := began.Add(free[i])
		mu.Unlock()
		time.Sleep(time.Until(until))
		return nil
	}
}

// worked returns when work is done that begins at a time and is interrupted by pauses.
func (s Server) worked(at, takes time.Duration) time.Duration {
	if s.Every == 0 {
		return at + takes
	}
	for {
		pause := at - at%s.Every + s.Every - s.Pause // the next, or the one in progress
		if at+takes <= pause {
			return at + takes
		}
		takes -= max(0, pause-at)
		at = pause + s.Pause
	}
}

// work returns the requests to the server, without sockets.
func (s Server) work() load.Work {
	start := sync.OnceValue(s.Start)
	return func(uint64) load.Request {
		return load.Request{Op: "search", Do: func(ctx context.Context) load.Outcome {
			done := make(chan error, 1)
			go func() { done <- start()() }()
			select {
			case err := <-done:
				if err != nil {
					return load.Outcome{Err: err, Kind: "status 503"}
				}
				return load.Outcome{}
			case <-ctx.Done():
				return load.Outcome{Err: ctx.Err(), Kind: "timeout"}
			}
		}}
	}
}
