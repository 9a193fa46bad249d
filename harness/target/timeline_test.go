package target

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"evalctl/harness/daemontest"
	"evalctl/harness/dataset"
	"evalctl/harness/result"
)

// TestTimelineOfStream checks the times of a stream whose daemon pauses, with a real connection.
func TestTimelineOfStream(t *testing.T) {
	const pause = 20 * time.Millisecond
	s := daemontest.New(t, func(w http.ResponseWriter, _ *http.Request, _ daemontest.Call) {
		send := func(name, data string) {
			daemontest.Stream(w, event(name, data))
			w.(http.Flusher).Flush()
		}
		time.Sleep(pause)
		send("retrieve", `{"chunks":[]}`)
		send("made-up", `x`)
		send("answer_delta", `{"delta":"a"}`)
		time.Sleep(pause)
		send("answer_delta", `{"delta":"b"}`)
		send("done", `{"ok":true}`)
	})
	a, err := targetOf(t, s).Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
	if err != nil {
		t.Fatal(err)
	}
	var events []string
	for _, e := range a.Timeline {
		events = append(events, e.Event)
	}
	if got := strings.Join(events, " "); got != "retrieve other answer_delta done" {
		t.Fatalf("got %s", got)
	}
	ms := float64(pause.Milliseconds())
	deltas := a.Timeline[2]
	if a.Timeline[0].AtMS < ms || deltas.N != 2 || deltas.LastMS < 2*ms ||
		math.Abs(deltas.LastMS-deltas.AtMS-deltas.GapMS) > 0.11 || a.Timeline[3].AtMS < deltas.LastMS {
		t.Errorf("got %+v", a.Timeline)
	}
}

// TestTimelineOfFailure checks that the timeline of a stream that fails ends with what arrived, and
// that a search has none.
func TestTimelineOfFailure(t *testing.T) {
	body := event("answer_delta", `{"delta":"a"}`)
	a := wantFailure(t, targetOf(t, streaming(t, body+event("error", `{"message":"no"}`))), result.KindDaemon)
	if n := len(a.Timeline); n != 2 || a.Timeline[1].Event != "error" {
		t.Errorf("got %+v", a.Timeline)
	}
	a = wantFailure(t, targetOf(t, streaming(t, body+event("citation", `not JSON`))), result.KindProtocol)
	if n := len(a.Timeline); n != 2 || a.Timeline[1].Event != "citation" {
		t.Errorf("got %+v", a.Timeline)
	}
	searches := targetOf(t, writing(t, `{"chunks":[]}`))
	searches.Scenario = result.SearchOnly
	a, err := searches.Ask(t.Context(), dataset.Question{Question: "who?"}, questionTime)
	if err != nil || a.Timeline != nil {
		t.Errorf("got %+v, %v", a.Timeline, err)
	}
}
