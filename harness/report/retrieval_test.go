package report

import (
	"strings"
	"testing"

	"evalctl/harness/result"
)

// TestFindingsWithoutRetrieval: what is wrong with a memory is shown although its answers do not
// say what they rest on, so that no retrieval was measured.
func TestFindingsWithoutRetrieval(t *testing.T) {
	const finding = "3 of 10 documents that were written were never found by their own words"
	run := runOf(10)
	run.Result.Retrieval = nil
	run.Result.Mapped = &result.MappedService{Mapping: "m", Findings: []string{finding}}
	var markdown strings.Builder
	if err := Markdown(&markdown, run, MaxSummary); err != nil {
		t.Fatal(err)
	}
	for form, text := range map[string]string{"terminal": printed(run), "Markdown": strings.ReplaceAll(markdown.String(), "`", "")} {
		if got := strings.Count(strings.Join(strings.Fields(text), " "), "about the memory: "+finding); got != 1 {
			t.Errorf("%s: the finding is shown %d times:\n%s", form, got, text)
		}
	}
}
