package gitstore_test

import (
	"bufio"
	"io"
	"os"
	"testing"

	"evalctl/daemon/store"
	"evalctl/daemon/store/storetest"
)

const (
	// faultsDirEnv makes the test binary run as the process whose system calls fail.
	faultsDirEnv = "GITSTORE_FAULTS_DIR"
	// faultsEnv makes TestFaults try every system call.
	faultsEnv = "GITSTORE_FAULTS"
)

func init() {
	children[faultsDirEnv] = func(dir string) int {
		return inChild(dir, func(s *store.Store, out, errs io.Writer) int {
			return storetest.CommitUnderFaults(s, bufio.NewReader(os.Stdin), out, errs)
		})
	}
}

func TestFaults(t *testing.T) {
	dir := storetest.MemoryDir(t)
	storetest.Faults{
		Env: faultsDirEnv, Dir: dir, All: os.Getenv(faultsEnv) != "",
		Open: func(t *testing.T) *store.Store { return openDir(t, dir, nil).Store },
	}.Run(t)
}
