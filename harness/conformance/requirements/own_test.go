package requirements

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"testing"

	"evalctl/daemon"
	"evalctl/daemon/httpapi"
)

// ownChecks are about decisions of the reference daemon where the specification leaves the matter
// open. Another daemon may decide otherwise, so they are tests of that daemon only, and not in the
// catalog.
func ownChecks() []check {
	return slices.Concat(
		ownHealthChecks(), createBrainChecks(), brainFieldChecks(), readBrainChecks(), deleteBrainChecks(),
		ownPutChecks(), ownBatchRequestChecks(), ownPathEdgeChecks(),
		ownListingFormatChecks(), ownListingScopeChecks(), ownListingGlobChecks(), ownListingFreshnessChecks(),
		ownRecordFieldChecks(), ownRecordContentChecks(), ownRecordPathChecks(), ownRecordLookupChecks(),
		ownRecordListChecks(), recordDeleteChecks(), ownRecordValidationChecks(),
		ownWriteLimitChecks(), ownBatchLimitChecks(), ownListingLimitChecks(), ownSearchLimitChecks(), ownAskLimitChecks(),
		ownProblemChecks(), ownMediaTypeChecks(), ownRouteChecks(), ownOtherHeaderChecks(), ownEventStreamChecks(),
		ownSchemeChecks(),
		ownSearchResponseChecks(), ownSearchModeChecks(), searchHighlightChecks(), ownSearchRequestChecks(),
		searchScopeChecks(), searchSortChecks(), searchQuestionDateChecks(), searchDocumentFilterChecks(),
		searchDateFilterChecks(), searchFilterRequestChecks(), searchImmediateChecks(), searchMatchingChecks(),
		searchDuplicateChecks(),
		ownAskRetrieveChecks(), ownAskAnswerChecks(), ownAskCitationChecks(), ownAskRequestChecks(), askFilterChecks(),
		ownMessageFieldChecks(), ownMessageEffectChecks(), ownMessageLimitChecks(), recallChecks(), reflectChecks(),
		ownIngestShapeChecks(), ownIngestKindChecks(), ownIngestRejectChecks(), ingestURLChecks(),
		requiring(needSlow, ownIngestLimitChecks()),
		ownToolChecks(),
	)
}

// TestReferenceDaemon requires the reference daemon to pass its own checks on every store.
func TestReferenceDaemon(t *testing.T) {
	withKeys := httpapi.Options{Keys: keys(t)}
	for _, tt := range []struct {
		name    string
		config  daemon.Config
		isShort bool
		only    []string // globs over ids
	}{
		{"memory", daemon.Config{Options: withKeys}, true, []string{"*"}},
		{"memory without keys", daemon.Config{}, false, []string{"brains-*", "*-brain-missing"}},
		{"files", daemon.Config{Home: t.TempDir(), Store: daemon.StoreFS, Options: withKeys}, false, []string{"*"}},
		{"git", daemon.Config{Home: t.TempDir(), Store: daemon.StoreGit, Options: withKeys}, true,
			[]string{"search-at-once-*", "search-filter*", "search-generated-*"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if testing.Short() && !tt.isShort {
				t.Skip("takes long")
			}
			t.Parallel()
			url := serve(t, tt.config)
			c := Config{Endpoint: url, MCP: url + "/mcp"}
			if tt.config.Keys != nil {
				c.Token = token
			}
			d := open(t, c)
			checks := slices.DeleteFunc(ownChecks(), func(c check) bool { return !slices.ContainsFunc(tt.only, c.Matches) })
			runAll(t, d, checks)
		})
	}
}

// TestReferenceToolsOnStdio requires the same of the tools in a process that can read files.
func TestReferenceToolsOnStdio(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, daemon.Config{})
	d := open(t, Config{Endpoint: url, MCP: fmt.Sprintf("stdio:'%s'", self), MCPEnv: []string{toolsOf + "=" + url}})
	runAll(t, d, slices.Concat(ownToolChecks(), ownToolFileChecks()))
}

// runAll runs checks. A check that is broken or not judged fails the test.
func runAll(t *testing.T, d *Target, checks []check) {
	t.Helper()
	if len(checks) == 0 {
		t.Error("no checks")
	}
	for _, c := range checks {
		t.Run(c.ID, func(t *testing.T) {
			if testing.Short() && len(c.needs) > 0 {
				t.Skip(c.needs[0].unmet)
			}
			t.Parallel()
			out := d.run(t.Context(), c)
			if out.Broken || out.Reason != "" {
				t.Errorf("%s\n%s: %s\n\n%s\n\n%s", c.Sentence, cmp.Or(string(out.Reason), "broken"), out.Detail, out.Request, out.Response)
			}
		})
	}
}
