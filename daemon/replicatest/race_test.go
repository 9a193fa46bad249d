//go:build race

package replicatest

const raceDetector = true
