package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"evalctl/daemon/client"
	"evalctl/daemon/setup"
	"evalctl/daemon/store/pgstore"
	"evalctl/internal/postgres"
	"evalctl/internal/terminal"
)

// migrate brings the tables of a database to this version in one transaction.
func (c *serveCmd) migrate(ctx context.Context, p *process) error {
	if !postgres.IsURL(c.Store) {
		// Not repeated, because it may contain a password.
		return errors.New("--migrate: --store must be a URL such as postgres://user@host/database")
	}
	if err := postgres.CheckFlag(c.Store, "--store", "SVC_STORE", p.args, p.env); err != nil {
		return err
	}
	pool, err := postgres.Open(ctx, c.Store, postgres.Options{Name: "evalctl serve --migrate"})
	if err != nil {
		return databaseError(err)
	}
	defer pool.Close()
	from, err := pgstore.Schema.Migrate(ctx, pool)
	if err != nil {
		return databaseError(fmt.Errorf("%s: %w", postgres.Address(c.Store), err))
	}
	to := pgstore.Schema.Version()
	if from == to {
		_, err = fmt.Fprintf(p.stdout, "%s has version %d already\n", terminal.Line(postgres.Address(c.Store)), to)
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s: version %d -> %d\n", terminal.Line(postgres.Address(c.Store)), from, to)
	return err
}

// databaseError returns the error for a database that cannot be used: a daemonError if it cannot be
// reached.
func databaseError(err error) error {
	if postgres.Retryable(err) {
		return daemonError{err}
	}
	return err
}

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
