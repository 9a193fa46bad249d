package wakeup_test

import (
	"testing"

	"evalctl/internal/wakeup"
)

func TestSignal(t *testing.T) {
	s := wakeup.New()
	for range 2 {
		if len(s) != 0 {
			t.Error("it is set")
		}
		s.Set()
		s.Set() // one token is enough
		<-s
	}
}
