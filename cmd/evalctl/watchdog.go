package main

import "evalctl/harness/launch"

// watchdogCmd is the hidden command of the process that stops a daemon when its parent is killed.
type watchdogCmd struct{}

// Run waits for the end of the process that started the daemon (see launch.Watchdog).
func (watchdogCmd) Run(p *process) error {
	return launch.Watchdog(p.stdin, p.stdout)
}
