//go:build unix

package fsstore_test

import (
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/fsstore"
	"evalctl/daemon/store/storetest"
)

func TestOutOfDescriptors(t *testing.T) {
	dir := storetest.MemoryDir(t)
	storetest.RunDescriptors(t, 5, func() (*store.Store, error) { return fsstore.Open(t.Context(), dir, nil) })
}
