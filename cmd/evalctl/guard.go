package main

import "evalctl/harness/launch"

// guardCmd is the process that ends a daemon should this one be killed.
type guardCmd struct{}

// Run waits for the launching process to end.
func (guardCmd) Run(p *process) error {
	return launch.Watchdog(p.stdin, p.stdout)
}
