package postgres_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"

	"evalctl/internal/awaittest"
	"evalctl/internal/postgres"
	"evalctl/internal/postgres/postgrestest"
)

// gather returns the values of all metrics by their name.
func gather(t *testing.T, collectors []prometheus.Collector) map[string]float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(collectors...)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for _, f := range families {
		m := f.GetMetric()[0]
		out[strings.TrimPrefix(f.GetName(), "evalctl_postgres_")] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
	}
	return out
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	proxy, url := postgrestest.Proxied(t)
	pool, err := postgres.Open(ctx, url, postgres.Options{MaxConns: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	metrics := postgres.Metrics(pool)

	// Two transactions, one of which waits for a lock of the other.
	if _, err := pool.Exec(ctx, "CREATE TABLE a (n int); INSERT INTO a VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	holder, err := pool.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holder.Exec(ctx, "UPDATE a SET n = 2"); err != nil {
		t.Fatal(err)
	}
	waited := make(chan error, 1)
	go func() {
		_, err := pool.Exec(ctx, "UPDATE a SET n = 3")
		waited <- err
	}()
	got := gather(t, metrics)
	for begun := time.Now(); got["lock_waiters"] == 0 && time.Since(begun) < 10*time.Second; got = gather(t, metrics) {
		time.Sleep(10 * time.Millisecond)
	}
	got = gather(t, metrics) // the values of one scrape are not of one moment
	if got["lock_waiters"] != 1 || got["up"] != 1 || got["connections_max"] != 3 || got["connections_acquired"] < 2 {
		t.Errorf("with one waiter: %v", got)
	}
	if err := holder.Rollback(ctx); err != nil {
		t.Error(err)
	}
	if err := awaittest.Receive(t, "waited", waited); err != nil {
		t.Error(err)
	}

	// All connections are in use.
	var txs []pgx.Tx
	for range 3 {
		tx, err := pool.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, tx)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := pool.Ping(short); err == nil {
		t.Error("a fourth connection")
	}
	got = gather(t, metrics)
	if got["connections_acquired"] != 3 || got["acquire_cancels_total"] < 1 || got["up"] != 0 {
		t.Errorf("with all connections in use: %v", got)
	}
	for _, tx := range txs {
		_ = tx.Rollback(ctx)
	}

	proxy.Cut()
	got = gather(t, metrics)
	if _, shown := got["lock_waiters"]; got["up"] != 0 || shown {
		t.Errorf("without a network: %v", got)
	}
}
