// Package compare determines whether results differ: which questions they share, whether they
// measured the same thing, and how certain each difference is. It pairs runs by question
// (statistics.md B.2).
package compare
