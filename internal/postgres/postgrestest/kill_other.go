//go:build !linux

package postgrestest

// kill stops the server as a crash does: its processes cannot be found here.
func (c *Cluster) kill() error {
	_, err := c.run("pg_ctl", "-D", c.Data(), "-m", "immediate", "-w", "stop")
	return err
}
