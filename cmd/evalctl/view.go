package main

import (
	"context"
	"fmt"
	"os"

	"evalctl/daemon/setup"
	"evalctl/harness/view"
)

type viewCmd struct {
	Dir  string `arg:"" optional:"" default:"results/" help:"Folder of results (${default})."`
	Addr string `default:"127.0.0.1:0" placeholder:"HOST:PORT" help:"Loopback address to listen on; port 0 picks a free one (${default})."`
}

// Run serves until ctx is canceled.
func (c *viewCmd) Run(ctx context.Context, p *process) error {
	info, err := os.Stat(c.Dir)
	if err != nil {
		return fmt.Errorf("%w: evalctl run writes a folder of results, or name another", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is not a folder: name the folder of the results", c.Dir)
	}
	l, err := setup.ListenLocal(ctx, c.Addr)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "evalctl: listening on http://%s\n", l.Addr())
	return view.Serve(ctx, l, c.Dir)
}
