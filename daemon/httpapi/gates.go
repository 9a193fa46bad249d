package httpapi

import (
	"context"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"evalctl/internal/admission"
)

// kind is a kind of work. Each has its own gate, so that no kind waits for another.
type kind string

const (
	kindNone   kind = "none" // is always done: what operators need, and streams of changes
	kindSearch kind = "search"
	kindAsk    kind = "ask" // the retrieval only: while the model answers, nothing else waits for it
	kindWrite  kind = "write"
	kindIngest kind = "ingest" // conversions, and what models make of documents
	kindRead   kind = "read"
)

// newGates returns the gate of each kind for a number of processors.
//
// Retrieval only needs processors. The other kinds also wait for disks, databases or models, so
// more of it is done at a time: several writes share a commit. These gates give no tenant all
// slots, because the work may take long. The queues are for the clients of a few evaluations at a
// time, 64 each, which wait for their turn however long a search takes.
func newGates(processors int) map[kind]*admission.Gate {
	queue := max(128, 64*processors)
	return map[kind]*admission.Gate{
		kindSearch: admission.New(admission.Config{Slots: processors, Queue: queue}),
		kindAsk:    admission.New(admission.Config{Slots: processors, Queue: queue}),
		kindWrite:  admission.New(admission.Config{Slots: 16 * processors, PerTenant: 12 * processors, Queue: 4 * queue}),
		kindIngest: admission.New(admission.Config{Slots: 8 * processors, PerTenant: 6 * processors, Queue: queue}),
		kindRead:   admission.New(admission.Config{Slots: 16 * processors, PerTenant: 12 * processors, Queue: 4 * queue}),
	}
}

// arrive lets the work of a request pass its gate. A request with a body passes it in begin,
// because its client may take long to send the body. A retrieval passes it in daemon/search,
// because the documents may have to be read first, or a model be asked. The caller must call end.
func (a *API) arrive(r *http.Request, rt route) (*http.Request, error) {
	gate, state := a.gates[rt.kind], requestOf(r)
	if gate == nil {
		return r, nil
	}
	if rt.kind == kindSearch || rt.kind == kindAsk {
		var ctx context.Context
		ctx, state.coming, state.leave = admission.With(r.Context(), gate, state.tenant())
		r = r.WithContext(ctx)
	} else {
		state.gate = gate
	}
	if rt.method() == http.MethodPost || rt.method() == http.MethodPut {
		return r, nil
	}
	return r, state.begin(r.Context())
}

// begin waits until the work of the request may begin. For a retrieval it only tells the gate that
// one will come. Only the first call has an effect.
func (state *request) begin(ctx context.Context) error {
	if coming := state.coming; coming != nil {
		state.coming = nil
		coming()
	}
	if state.gate == nil {
		return nil
	}
	gate := state.gate
	state.gate = nil
	leave, err := gate.Enter(ctx, state.tenant())
	if err == nil {
		state.leave = leave
	}
	return err
}

// end lets other work pass the gate. Only the first call has an effect.
func (state *request) end() {
	if leave := state.leave; leave != nil {
		state.leave = nil
		leave()
	}
}

// tenant returns whose work the request is. It is empty without keys.
func (state *request) tenant() string {
	if state.caller == nil {
		return ""
	}
	return state.caller.Tenant
}

func (a *API) gateMetrics() []prometheus.Collector {
	var all []prometheus.Collector
	for k, gate := range a.gates {
		labels := prometheus.Labels{"kind": string(k)}
		gauge := func(name, help string, value func(admission.Stats) int) {
			all = append(all, prometheus.NewGaugeFunc(
				prometheus.GaugeOpts{Name: name, Help: help, ConstLabels: labels},
				func() float64 { return float64(value(gate.Stats())) }))
		}
		counter := func(name, help string, value func(admission.Stats) uint64) {
			all = append(all, prometheus.NewCounterFunc(
				prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
				func() float64 { return float64(value(gate.Stats())) }))
		}
		gauge("evalctl_work_in_flight", "Requests whose work is being done, by kind of work.",
			func(s admission.Stats) int { return s.InFlight })
		gauge("evalctl_work_queued", "Requests whose work waits, by kind of work.",
			func(s admission.Stats) int { return s.Queued })
		counter("evalctl_work_shed_total", "Requests answered with 503 overloaded, by kind of work.",
			func(s admission.Stats) uint64 { return s.Shed })
		counter("evalctl_work_abandoned_total", "Requests whose clients left while their work waited, by kind of work.",
			func(s admission.Stats) uint64 { return s.Abandoned })
	}
	return all
}
