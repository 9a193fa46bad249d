//go:build race

package actor

// raceDetector reports whether the race detector is on, which makes tests several times slower.
const raceDetector = true
