package conformance

import (
	"strings"
	"testing"
)

// A run in which too much is not judged is no verdict, and says why.
func TestUnsettled(t *testing.T) {
	t.Parallel()
	type many struct {
		n       int
		group   string
		level   Level
		verdict Verdict
		reason  Reason
	}
	kept := many{90, "documents", Must, Kept, ""}
	for _, tt := range []struct {
		name    string
		results []many
		want    string // "" for a verdict
	}{
		{"all kept", []many{kept}, ""},
		{"a tenth open", []many{kept, {10, "events", Must, NotJudged, ReasonSetup}}, ""},
		{"more than a tenth open", []many{kept, {8, "events", Must, NotJudged, ReasonRateLimit}, {3, "ask", Must, NotJudged, ReasonTransport}},
			"11 of 101 MUST requirements that apply could not be judged, and none of events, ask: 8 rate limit, 3 no answer; run fewer"},
		{"a group without answers", []many{kept, {1, "ask", Must, NotJudged, ReasonTimeout}}, "1 of 91 MUST requirements that apply could not be judged, and none of ask: 1 no answer in time; allow"},
		{"a group that cannot be prepared", []many{kept, {5, "sessions", Must, NotJudged, ReasonSetup}}, ""},
		{"a part of a group", []many{kept, {2, "documents", Must, NotJudged, ReasonServerError}}, ""},
		{"what does not apply", []many{kept, {40, "auth", Must, NotJudged, ReasonNeed}, {40, "ask", Must, NotJudged, ReasonOptional}}, ""},
		{"SHOULDs", []many{kept, {40, "records", Should, NotJudged, ReasonTransport}}, ""},
		{"beside what is broken", []many{{5, "ask", Must, Broken, ""}, {5, "ask", Must, NotJudged, ReasonObserve}}, "5 of 10 MUST requirements"},
	} {
		var r Report
		for _, m := range tt.results {
			for range m.n {
				r.Results = append(r.Results, Result{Check: Check{Group: m.group, Level: m.level}, Verdict: m.verdict, Reason: m.reason})
			}
		}
		if got := r.Unsettled(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
