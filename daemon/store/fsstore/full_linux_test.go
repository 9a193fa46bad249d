package fsstore_test

import (
	"bytes"
	"testing"

	"evalctl/daemon/store/storetest"
)

func TestDiskFull(t *testing.T) {
	s := openDir(t, storetest.SmallDisk(t, "size=256k"))
	big := bytes.Repeat([]byte("x"), 20_000)
	storetest.RunDiskFull(t, s, func(int) []byte { return big }, func() string { return "" })
	if err := s.Delete(t.Context(), "b/0/1"); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(t.Context(), "small", big[:10]); err != nil {
		t.Fatalf("after a delete: %v", err)
	}
}
