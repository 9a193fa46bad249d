package main

import (
	"context"
	"fmt"
	"net"
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
	l, err := c.listen(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "evalctl: listening on http://%s\n", l.Addr())
	return view.Serve(ctx, l, c.Dir)
}

// listen rejects an address that other machines can reach.
func (c *viewCmd) listen(ctx context.Context) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(c.Addr); err != nil {
		return nil, fmt.Errorf("--addr %q: must be HOST:PORT such as 127.0.0.1:8080", c.Addr)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("--addr %s: %w", c.Addr, err)
	}
	if setup.Exposed(l.Addr()) {
		_ = l.Close() // nothing was accepted
		return nil, fmt.Errorf("--addr %s: other machines could reach %s and read the results; "+
			"listen on 127.0.0.1, and forward the port with ssh -L to see them elsewhere", c.Addr, l.Addr())
	}
	return l, nil
}
