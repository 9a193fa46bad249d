package conformance

import (
	"maps"
	"net/http"
	"slices"
)

// mutant is the reference daemon with one defect.
type mutant struct {
	name, defect string
	wrap         wrapper
	// caughtBy are the ids of the checks that must fail. alsoFails are globs over the ids of other
	// checks that may fail, because they depend on the same behaviour.
	caughtBy, alsoFails []string
}

func mutants() []mutant {
	return slices.Concat(
		statusMutants(), documentMutants(), readMutants(), recordMutants(), listingMutants(), batchMutants(),
		pathMutants(), limitMutants(), errorMutants(), headerMutants(), ignoredHeaderMutants(), eventMutants(),
		authMutants(), searchMutants(), askMutants(), brainMutants(), sessionMutants(), ingestMutants(), mcpMutants())
}

// inData puts the bodies of successful responses into an object data.
func inData(patterns ...string) wrapper {
	return after(anyRoute(patterns...), func(_ *http.Request, a *captured) {
		if !a.Failed() {
			a.Edit(func(o map[string]any) {
				inner := maps.Clone(o)
				clear(o)
				o["data"] = inner
			})
		}
	})
}

func changeStatus(from, to int) func(*http.Request, *captured) {
	return func(_ *http.Request, a *captured) {
		if a.Status == from {
			a.Status = to
		}
	}
}
