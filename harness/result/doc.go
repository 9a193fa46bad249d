// Package result describes the outcome of a run: the record of each question, the figures over all
// of them, the verdict, the warnings that make figures doubtful, and everything that affected the
// outcome. The types are those of the result file (docs/result.schema.json) and of the sweep file
// (docs/sweep.schema.json). Open reads a result file one question at a time.
package result
