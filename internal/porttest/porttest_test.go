package porttest

import (
	"net"
	"strconv"
	"sync"
	"testing"

	"evalctl/internal/awaittest"
)

// TestReserve: ports that are reserved at the same time differ, can be listened on, and are free again
// afterwards.
func TestReserve(t *testing.T) {
	var mu sync.Mutex
	var reserving sync.WaitGroup
	got := map[int]bool{}
	for range 50 {
		reserving.Go(func() {
			first := Free(t, 3)
			mu.Lock()
			defer mu.Unlock()
			for port := first; port < first+3; port++ {
				if got[port] {
					t.Errorf("port %d was reserved twice", port)
				}
				got[port] = true
			}
		})
	}
	awaittest.Wait(t, "reserving", reserving.Wait)
	for port := range got {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			t.Error(err)
			continue
		}
		l.Close()
	}
}

// TestReserveAgain: a port that is reserved or in use is not reserved, and one that was released is.
func TestReserveAgain(t *testing.T) {
	dir := t.TempDir()
	first := Free(t, 1)
	release, err := reserve(dir, first, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reserve(dir, first, 1); err == nil {
		t.Error("it was reserved twice")
	}
	release()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reserve(dir, first, 1); err == nil {
		t.Error("a port in use was reserved")
	}
	l.Close()
	if release, err = reserve(dir, first, 1); err != nil {
		t.Fatal(err)
	}
	release()
}
