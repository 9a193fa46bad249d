// Package requirements has the requirements of protocol v1.0: a table of checks, and the language
// they are written in. All returns the table, and Target runs a check against a daemon.
//
// A check is a list of steps. A step sends a request and asserts something about the response. The
// checks of a group are in the files whose names begin with the group's name.
package requirements

import (
	"slices"
	"sync"
)

// catalog has all checks. They have no state, so all runs of a process share them.
var catalog = sync.OnceValue(func() []check {
	return slices.Concat(
		healthChecks(), requiring(needOtherTenant, brainAccessChecks()),
		putChecks(), readChecks(), statChecks(), appendChecks(), deleteChecks(), renameChecks(), brainIsolationChecks(),
		recordFieldChecks(), recordContentChecks(), recordPathChecks(), recordLookupChecks(), recordListChecks(),
		recordValidationChecks(),
		listingFormatChecks(), listingScopeChecks(), listingGeneratedChecks(), listingGlobChecks(), listingFreshnessChecks(),
		batchOpChecks(), batchRequestChecks(), batchOrderChecks(), batchAtomicityChecks(), batchValidationChecks(),
		pathChecks(), pathOperationChecks(), pathEdgeChecks(),
		writeLimitChecks(), compressionChecks(), batchLimitChecks(), listingLimitChecks(), searchLimitChecks(), askLimitChecks(),
		problemChecks(), mediaTypeChecks(), renameBodyChecks(), routeChecks(), headerChecks(), otherHeaderChecks(),
		eventStreamChecks(), changeChecks(), batchEventChecks(), deliveryChecks(), eventIDChecks(),
		requiring(needSlow, idleStreamChecks()),
		requiring(needToken, anonymousChecks()), requiring(needReadOnlyToken, readOnlyChecks()),
		requiring(needOtherTenant, tenantChecks()),
		searchResponseChecks(), searchModeChecks(), searchRequestChecks(), searchFreshnessChecks(),
		askStreamChecks(), askRetrieveChecks(), askChunkChecks(), askAnswerChecks(), askCitationChecks(), askRequestChecks(),
		messageFieldChecks(), messageEffectChecks(), messageLimitChecks(),
		ingestShapeChecks(), ingestKindChecks(), ingestRejectChecks(),
		requiring(needSlow, ingestLimitChecks()),
		requiring(needMCP, slices.Concat(mcpSchemaChecks(), mcpShapeChecks(), mcpTextChecks(), mcpEffectChecks(),
			mcpErrorChecks(), mcpLimitChecks(), mcpProgressChecks(), silentToolChecks())),
		requiring(needLocalMCP, requiring(needMCP, mcpFileChecks())),
		evaluableChecks(),
	)
})

// All returns all checks, in the order of the catalog.
func All() []Check {
	all := make([]Check, len(catalog()))
	for i, c := range catalog() {
		all[i] = c.Check
	}
	return all
}
