package setup

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"evalctl/daemon/httpapi"
)

// OpenKeys returns the keys of a daemon, which follow their file until stop is called, and at once
// when the channel of hangups receives. hangups may be nil. Without a path the keys are nil.
func OpenKeys(ctx context.Context, path string, hangups func() <-chan struct{}, stderr io.Writer, log *slog.Logger) (_ *httpapi.Keys, stop func(), err error) {
	if path == "" {
		return nil, func() {}, nil
	}
	info, err := os.Stat(path)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(stderr, "evalctl: %s has mode %04o: only its owner should have access (chmod 600)\n", path, info.Mode().Perm())
	}
	file, err := httpapi.OpenKeysFile(path, log)
	if err != nil {
		return nil, nil, err
	}
	var reload <-chan struct{}
	if hangups != nil {
		reload = hangups()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() { file.Follow(ctx, reload) })
	return file.Keys(), func() {
		cancel()
		following.Wait()
	}, nil
}
