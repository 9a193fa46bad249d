//go:build !race

package actor

const raceDetector = false
