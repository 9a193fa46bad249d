// Package journal keeps a run on disk while it goes on and writes its result file.
//
// A journal is a file of JSON lines: a first line with the run's identity, then a line for each
// graded answer in the order in which they came, and before it a line for an answer whose grade
// takes a while. Whatever ends the process, a run is resumed from its journal without asking again
// what was answered.
package journal
