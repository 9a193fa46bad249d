package result

import (
	"cmp"
	"slices"
)

// ModelRequests are the requests of a started daemon to evalctl's gateway, which replaces its model
// provider.
type ModelRequests struct {
	// Ingest and Answers count completions requested while brains were filled, and while questions
	// were asked.
	Ingest     RequestCount `json:"ingest"`
	Answers    RequestCount `json:"answers"`
	Embeddings RequestCount `json:"embeddings"`
	// WithoutModel is the number of requests without a model, which got the arm's model.
	WithoutModel int `json:"without_model"`
	// Refused are failed requests, and requests to paths that the gateway does not serve, the most
	// frequent first.
	Refused []RefusedRequests `json:"refused"`
	// SinceResumed is set if requests before a resume are not counted: in a replay always, in a run
	// if a process was killed before it could record them.
	SinceResumed bool `json:"since_resumed,omitempty"`
	// Silent lists what the daemon generated without a request to the gateway, although it was
	// configured with a model for it.
	Silent []GeneratedKind `json:"silent"`
}

// RequestCount counts requests. Failed is the part of Made that got an error or an incomplete
// answer.
type RequestCount struct {
	Made   int `json:"made"`
	Failed int `json:"failed"`
}

// RefusedRequests are requests to one path that ended with the same status. An unknown Path is as
// the daemon wrote it, shortened; it is empty for the rest if there are too many paths. Status is 0
// if the answer broke off.
type RefusedRequests struct {
	Path     string `json:"path"`
	Status   int    `json:"status"`
	Requests int    `json:"requests"`
}

// GeneratedKind is a kind of model output that a daemon requests.
type GeneratedKind string

// The kinds of model output.
const (
	Facts   GeneratedKind = "facts" // of messages
	Answers GeneratedKind = "answers"
	Vectors GeneratedKind = "vectors" // of documents and questions
)

// The paths of completions and embeddings, below the base URL.
const (
	PathCompletions = "/chat/completions"
	PathEmbeddings  = "/embeddings"
)

// SortRefused sorts Refused.
func (m *ModelRequests) SortRefused() {
	slices.SortFunc(m.Refused, func(a, b RefusedRequests) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Status, b.Status))
	})
}

// maxRefused limits the kinds of refused requests in a sum, as in the result's schema.
const maxRefused = 42

// Plus adds the requests to two gateways of one daemon, or of two processes of a run. Silent is
// taken from m.
func (m *ModelRequests) Plus(other ModelRequests) ModelRequests {
	sum := ModelRequests{
		Ingest: m.Ingest.plus(other.Ingest), Answers: m.Answers.plus(other.Answers),
		Embeddings: m.Embeddings.plus(other.Embeddings), WithoutModel: m.WithoutModel + other.WithoutModel,
		SinceResumed: m.SinceResumed || other.SinceResumed, Silent: append([]GeneratedKind{}, m.Silent...),
	}
	sum.addRefused(append(slices.Clone(m.Refused), other.Refused...))
	if len(sum.Refused) > maxRefused {
		for i := maxRefused / 2; i < len(sum.Refused); i++ {
			sum.Refused[i].Path = ""
		}
		sum.addRefused(sum.Refused)
	}
	return sum
}

// addRefused sets Refused to refused requests, with those of one path and status together.
func (m *ModelRequests) addRefused(all []RefusedRequests) {
	m.Refused = []RefusedRequests{}
	for _, r := range all {
		i := slices.IndexFunc(m.Refused, func(s RefusedRequests) bool { return s.Path == r.Path && s.Status == r.Status })
		if i < 0 {
			m.Refused = append(m.Refused, r)
			continue
		}
		m.Refused[i].Requests += r.Requests
	}
	m.SortRefused()
}

func (c RequestCount) plus(other RequestCount) RequestCount {
	return RequestCount{Made: c.Made + other.Made, Failed: c.Failed + other.Failed}
}
