// Package result is what a run found: the record of each question, the figures over all of them,
// the warnings that put figures in doubt, and everything that affected the outcome. The types are
// those of the result file (docs/result.schema.json) and of the sweep file
// (docs/sweep.schema.json).
//
// An Aggregate adds records up one at a time. The order of records does not matter, so that workers
// may finish as they please.
package result
