//go:build unix

package gitstore_test

import (
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/gitstore"
	"evalctl/daemon/store/storetest"
)

func TestOutOfDescriptors(t *testing.T) {
	dir := storetest.MemoryDir(t)
	storetest.RunDescriptors(t, 20, func() (*store.Store, error) {
		r, err := gitstore.Open(t.Context(), dir, nil)
		if err != nil {
			return nil, err
		}
		return r.Store, nil
	})
	if out := git(t, dir, "fsck", "--strict", "--no-dangling"); out != "" {
		t.Error(out)
	}
}
