package target

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"evalctl/harness/aggregate"
	"evalctl/harness/daemontest"
	"evalctl/harness/result"
	"evalctl/harness/resulttest"
)

func endpointOf(tb testing.TB, s *daemontest.Daemon, token string) *Endpoint {
	tb.Helper()
	e, err := NewEndpoint(s.URL, token, "evalctl-test", 16)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(e.Close)
	return e
}

func targetOf(tb testing.TB, s *daemontest.Daemon) *Target {
	return askBasic(endpointOf(tb, s, ""))
}

func askBasic(e *Endpoint) *Target {
	return &Target{
		Service: e, Brains: map[string]string{"": "eval"},
		Scenario: result.AskBasic, Mode: "auto", TopK: 5, Dialect: result.Auto,
	}
}

// event is a frame of an event stream.
var event = daemontest.Event

// streaming starts a daemon that answers every request with an event stream.
func streaming(tb testing.TB, text string) *daemontest.Daemon {
	return daemontest.New(tb, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		daemontest.Stream(w, text)
	})
}

// writing starts a daemon that answers every request with a body.
func writing(tb testing.TB, body string) *daemontest.Daemon {
	return daemontest.New(tb, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		_, _ = io.WriteString(w, body)
	})
}

// validRecord checks the JSON of a record against the schema of result files.
func validRecord(record []byte) error {
	id := result.Identity{
		SchemaVersion: 1, SDK: "go", Scorer: "exact",
		Scenario: result.AskBasic, Mode: "auto", TopK: 1, Dialect: result.Auto,
		Dataset: result.DatasetID{
			SHA256: strings.Repeat("a", 64), Selected: 1, Tags: map[string]int{},
		},
		Tool: result.ToolID{CPUs: 1},
	}
	res := result.Result{
		SDK: "go", ScorerName: "exact", Planned: 1, Identity: id,
		StartedAt: time.Now(), FinishedAt: time.Now(),
		Settings: result.Settings{Concurrency: 1, TimeoutSeconds: 1},
	}
	empty := aggregate.New(5)
	empty.Fill(&res)
	empty.Judge(&res)
	head, err := json.Marshal(res)
	if err != nil {
		return err
	}
	return resulttest.Validate("result", slices.Concat(head[:len(head)-1], []byte(`,"questions":[`), record, []byte(`]}`)))
}
