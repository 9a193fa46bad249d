//go:build race

package main

// raceDetector makes everything several times slower.
const raceDetector = true
