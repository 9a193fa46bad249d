package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	ct "evalctl/harness/conformance/conformancetest"
)

// TestConformanceUnsettled: a run in which too much is not judged ends with a warning and exit code
// 4. What is broken is certain, and decides the exit code.
func TestConformanceUnsettled(t *testing.T) {
	t.Parallel()
	const warning = "MUST requirements that apply could not be judged"
	for _, tt := range []struct {
		name   string
		wrap   ct.Wrapper
		args   []string
		code   int
		marks  []string // in stderr
		report string   // in the table
	}{
		{"rate limit", ct.Failing("POST /documents/append", 429), []string{"--only", "documents"}, exitDaemon,
			[]string{warning, "9 rate limit; run fewer checks in parallel"}, "too little was judged: "},
		{"resets", ct.ResetEvery(4), []string{"--only", "documents"}, exitDaemon, []string{warning, "no answer; see in the daemon's log"}, "too little was judged: "},
		{"broken beside a rate limit", ct.Wrapper(func(next http.Handler) http.Handler {
			return ct.Failing("GET /documents/stat", 400)(ct.Failing("POST /documents/append", 429)(next))
		}), []string{"--only", "documents"}, exitBelowFloor, []string{"MUST requirements are broken", "warning: ", warning}, "too little was judged: "},
		{"streams that end", ct.CutStreams(ct.Cut{After: 80 * time.Millisecond}), []string{"--only", "events", "--quiet"}, exitBelowFloor,
			[]string{"1 of ", "MUST requirements are broken"}, "change streams are ended by the daemon"},
		{"a profile", ct.Failing("POST /ask", 404), []string{"--profile", "evaluable"}, exitBelowFloor,
			[]string{"profile   ", "1 of ", "MUST requirements of the profile evaluable are broken"}, "1 of 8 MUST requirements of the profile evaluable are broken\n"},
		{"nothing of a profile", ct.Correct(), []string{"--profile", "evaluable"}, exitDone, nil, "0 of 9 MUST requirements of the profile evaluable are broken\n"},
		{"another profile", ct.Correct(), []string{"--profile", "evaluable", "--only", "documents"}, exitUsage,
			[]string{`no such check or group of the profile evaluable: "documents"`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, report, stderr := conformanceOf(t.Context(), t, tt.wrap, tt.args...)
			if code != tt.code || !strings.Contains(report, tt.report) {
				t.Errorf("exit code %d, stderr %s\n%s", code, stderr, report)
			}
			for _, mark := range tt.marks {
				if !strings.Contains(stderr, mark) {
					t.Errorf("%q is missing in %s", mark, stderr)
				}
			}
		})
	}
}
