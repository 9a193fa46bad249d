package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics returns the metrics of a pool and of locks in its database. They have no labels from the
// connection string.
func Metrics(pool *pgxpool.Pool) []prometheus.Collector {
	gauge := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "evalctl_postgres_" + name, Help: help},
			func() float64 { return value(pool.Stat()) })
	}
	counter := func(name, help string, value func(*pgxpool.Stat) float64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "evalctl_postgres_" + name, Help: help},
			func() float64 { return value(pool.Stat()) })
	}
	return []prometheus.Collector{
		gauge("connections_max", "Largest number of connections to PostgreSQL.",
			func(s *pgxpool.Stat) float64 { return float64(s.MaxConns()) }),
		gauge("connections_acquired", "Connections to PostgreSQL in use.",
			func(s *pgxpool.Stat) float64 { return float64(s.AcquiredConns()) }),
		gauge("connections_idle", "Connections to PostgreSQL that are free.",
			func(s *pgxpool.Stat) float64 { return float64(s.IdleConns()) }),
		counter("connections_opened_total", "Connections to PostgreSQL that were opened.",
			func(s *pgxpool.Stat) float64 { return float64(s.NewConnsCount()) }),
		counter("acquires_total", "Uses of a connection to PostgreSQL.",
			func(s *pgxpool.Stat) float64 { return float64(s.AcquireCount()) }),
		counter("acquire_waits_total", "Uses that waited because no connection was free.",
			func(s *pgxpool.Stat) float64 { return float64(s.EmptyAcquireCount()) }),
		counter("acquire_wait_seconds_total", "Time for which uses waited because no connection was free.",
			func(s *pgxpool.Stat) float64 { return s.EmptyAcquireWaitTime().Seconds() }),
		counter("acquire_cancels_total", "Uses that were given up before there was a connection.",
			func(s *pgxpool.Stat) float64 { return float64(s.CanceledAcquireCount()) }),
		&activity{pool: pool, up: prometheus.NewDesc("evalctl_postgres_up",
			"Whether PostgreSQL answers: 1 or 0.", nil, nil),
			waiting: prometheus.NewDesc("evalctl_postgres_lock_waiters",
				"Sessions of all programs in the database that wait for a lock. Absent while PostgreSQL does not answer.", nil, nil)},
	}
}

// activityTimeout is how long a scrape waits for the server.
const activityTimeout = time.Second

// activity asks the server when it is collected.
type activity struct {
	pool        *pgxpool.Pool
	up, waiting *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (a *activity) Describe(out chan<- *prometheus.Desc) {
	out <- a.up
	out <- a.waiting
}

// Collect implements prometheus.Collector.
func (a *activity) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), activityTimeout)
	defer cancel()
	var waiting float64
	err := a.pool.QueryRow(ctx, `SELECT count(*)::float8 FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting)
	if err != nil {
		out <- prometheus.MustNewConstMetric(a.up, prometheus.GaugeValue, 0)
		return
	}
	out <- prometheus.MustNewConstMetric(a.up, prometheus.GaugeValue, 1)
	out <- prometheus.MustNewConstMetric(a.waiting, prometheus.GaugeValue, waiting)
}
