// Package result describes the outcome of a run: the record of each question, the figures over all
// of them, the warnings that make figures doubtful, and everything that affected the outcome. The types are
// those of the result file (docs/result.schema.json) and of the sweep file
// (docs/sweep.schema.json).
//
// An Aggregate adds up records one at a time. Their order does not matter, so that workers may
// finish in any order.
package result
