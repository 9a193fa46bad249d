package view

import (
	"context"
	"errors"
	"net"
	"net/http"
	"time"
)

// timeout limits the wait for open pages at the end.
const timeout = 30 * time.Second

// Serve serves the results in a folder on l until ctx is canceled. It closes l.
func Serve(ctx context.Context, l net.Listener, dir string) error {
	server := &http.Server{ // no WriteTimeout: the first page reads every file of the folder
		Handler: New(dir), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second,
		IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 16,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	err := server.Shutdown(wait)
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
