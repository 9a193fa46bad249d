// Package result describes the outcome of a run: the record of each question, the figures over all
// questions, the verdict, warnings about doubtful figures, and everything that affected the
// outcome. The types are those of the result file (docs/result.schema.json) and the sweep file
// (docs/sweep.schema.json). Package resultfile reads result files, package wording puts them in
// words.
package result
