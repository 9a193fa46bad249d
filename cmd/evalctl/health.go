package main

import (
	"cmp"
	"context"
	"fmt"

	"evalctl/daemon/client"
	"evalctl/daemon/setup"
	"evalctl/internal/terminal"
)

type healthCmd struct {
	URL string `arg:"" optional:"" help:"Base URL. Default: the address in $SVC_ADDR, or http://127.0.0.1:8787."`
}

// Run sends one request. Containers and service managers repeat the command themselves.
func (c *healthCmd) Run(ctx context.Context, p *process) error {
	base := c.URL
	if base == "" {
		var err error
		if base, err = setup.URL(cmp.Or(p.env("SVC_ADDR"), "127.0.0.1:8787")); err != nil {
			return err
		}
	}
	daemon, err := client.New(base, &client.Options{UserAgent: userAgent()})
	if err != nil {
		return err
	}
	defer daemon.Close()
	health, err := daemon.Health(ctx)
	if err != nil {
		return daemonError{fmt.Errorf("check health of %s: %w", base, err)}
	}
	if !health.OK {
		return daemonError{fmt.Errorf("%s reports that it is not healthy", base)}
	}
	_, err = fmt.Fprintf(p.stdout, "ok %s\n", terminal.Line(health.Version))
	return err
}
