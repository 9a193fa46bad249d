package result

import (
	"fmt"
	"strings"
)

// Together lists the arms whose questions were asked at the same time. Their latencies include
// waits of daemons on one machine for each other.
type Together struct {
	// Arms are all arms of the replay, including this one. Started are the arms whose daemons the
	// replay started on its own machine.
	Arms    []string `json:"arms"`
	Started []string `json:"started_here"`
	// Concurrency is the maximum number of concurrent questions of one arm, InFlight of all arms.
	Concurrency int `json:"concurrency"`
	InFlight    int `json:"in_flight"`
}

// Text describes what the latencies of the arms include.
func (t *Together) Text() string {
	where := ""
	if len(t.Started) > 1 {
		where = ", daemons of " + strings.Join(t.Started, ", ") + " on one machine"
	}
	return fmt.Sprintf("%s were asked at the same time%s, with up to %d questions each and %d in all under way: "+
		"latencies include that they wait for each other", strings.Join(t.Arms, ", "), where, t.Concurrency, t.InFlight)
}

// The requests that Alone measures.
const (
	AloneSearch = "search" // the daemon's part of an answer that evalctl's reader writes
	AloneAnswer = "answer" // the daemon's own answer
)

// Alone has the latencies of a daemon that was asked one question at a time, while the other arms
// of the replay were idle. It was asked questions that it had answered before.
type Alone struct {
	// Request is the request sent: search or answer. No reader or judge of evalctl took part.
	Request string `json:"request"`
	// Planned is the planned number of questions. Asked has the questions that were asked.
	Planned int          `json:"planned"`
	Asked   []AloneAsked `json:"asked"`
	// Latency is the latency of the answered questions. Shared is the latency of the same requests
	// in the replay, while other arms were asked too.
	Latency Quantiles `json:"latency"`
	Shared  Quantiles `json:"shared"`
	// Problem is why questions were not asked, empty if all were.
	Problem string `json:"problem,omitempty"`
}

// AloneAsked is one question that was asked alone.
type AloneAsked struct {
	ID        string  `json:"id"`
	LatencyMS float64 `json:"latency_ms"`
	// SharedMS is the time of the same request in the replay, nil if it failed.
	SharedMS *float64 `json:"shared_ms"`
	// Error is why the question was not answered, empty if it was.
	Error string `json:"error,omitempty"`
}

// Failed returns the number of questions that were asked but not answered.
func (a *Alone) Failed() int {
	n := 0
	for _, q := range a.Asked {
		if q.Error != "" {
			n++
		}
	}
	return n
}

// Text describes the measurement. A problem in it is a message of a daemon or a model.
func (a *Alone) Text() string {
	text := fmt.Sprintf("%d of %d questions again, one at a time while other arms were idle: %s, %s",
		len(a.Asked)-a.Failed(), a.Planned, a.Request, a.Latency.text())
	if a.Shared.N > 0 {
		text += "; the same requests in the replay: " + a.Shared.text()
	}
	if n := a.Failed(); n > 0 {
		text += fmt.Sprintf("; %d failed", n)
	}
	if a.Problem != "" {
		text += "; not all were asked: " + a.Problem
	}
	return text
}

// text returns p50 and p95, or the number of answers that they need.
func (q Quantiles) text() string {
	one := func(name string, ms *float64, needed int) string {
		if ms == nil {
			return fmt.Sprintf("%s needs %d answers", name, needed)
		}
		return fmt.Sprintf("%s %.1f ms", name, *ms)
	}
	return one("p50", q.P50, NeededForP50) + ", " + one("p95", q.P95, NeededForP95)
}
