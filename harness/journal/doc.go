// Package journal keeps a run on disk while it is in progress, and writes its result file.
//
// A journal is a file of JSON lines. The first line has the run's identity. Each graded answer
// follows as a line, in order of arrival, preceded by a line for the answer alone if grading takes
// a while. However the process ends, a run can be resumed from its journal without asking answered
// questions again.
package journal
