package main

import (
	"errors"
	"fmt"
	"strings"
)

// daemonEnvFlag has the flag for what a daemon gets although evalctl counts money.
type daemonEnvFlag struct {
	DaemonEnv []string `name:"daemon-env" sep:"none" placeholder:"NAME" help:"Pass a variable on to the daemon that is started, although it looks like a credential or a provider's address. No cap limits what the daemon pays with it. May be repeated." group:"advanced"`
}

// validateDaemonEnv checks that only names are given.
func (f *daemonEnvFlag) validateDaemonEnv(endpoint string) error {
	for _, given := range f.DaemonEnv {
		name, _, value := strings.Cut(given, "=")
		switch {
		case value:
			return fmt.Errorf("--daemon-env takes only the name of a variable, because other users can read a command line: "+
				"set %s in the environment, and give --daemon-env %[1]s", name)
		case name == "":
			return errors.New("--daemon-env is empty; give the name of a variable")
		case endpoint != "":
			return errors.New("--daemon-env is for a daemon that is started; the one at --endpoint has its own environment")
		}
	}
	return nil
}
