package result

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
