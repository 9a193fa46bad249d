package requirements

import (
	"sync"
)

// routes counts what each route returned. It is safe for concurrent use.
type routes struct {
	mu       sync.Mutex
	statuses map[string]map[int]int
	strays   []*exchange
}

func (r *routes) count(x *exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.statuses[x.route] == nil {
		r.statuses[x.route] = map[int]int{}
	}
	r.statuses[x.route][x.answer.status]++
}

// strayed keeps failures outside of checks after which the same request succeeded.
func (r *routes) strayed(failed []*exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range failed {
		if x.answer.status >= 500 { // else it was the rate limit
			r.strays = append(r.strays, x)
		}
	}
}
