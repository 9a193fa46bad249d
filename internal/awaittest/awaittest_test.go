package awaittest

import (
	"errors"
	"sync"
	"testing"
)

func TestReceive(t *testing.T) {
	values := make(chan error, 1)
	values <- errors.New("one")
	if err := Receive(t, "a value", values); err == nil || err.Error() != "one" {
		t.Errorf("got %v", err)
	}
	close(values)
	if err := Receive(t, "the end", values); err != nil {
		t.Errorf("closed: got %v", err)
	}
}

func TestWait(t *testing.T) {
	var group sync.WaitGroup
	ended := false
	group.Go(func() { ended = true })
	Wait(t, "the goroutine", group.Wait)
	if !ended {
		t.Error("Wait returned before the goroutine has ended")
	}
}
