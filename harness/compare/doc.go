// Package compare reads results and says whether they differ: which questions they share, whether
// they measured the same thing, and how certain each difference is. The questions are paired, so
// that two runs are compared on what each of them did with the same question (statistics.md B.2).
package compare
