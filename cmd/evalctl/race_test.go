//go:build race

package main

// raceDetector reports whether the race detector is on, which makes tests several times slower.
const raceDetector = true
