// Package environ determines which part of this process's environment a started program gets. A
// program gets little, because its code is of others: the variables that programs need to run at
// all, and those that the user names. Each program that evalctl starts has its environment from Of.
package environ

import (
	"fmt"
	"slices"
	"strings"
)

// common are the variables that each program gets, in upper case.
var common = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM",
	"LANG", "LANGUAGE", "TZ", "TZDIR", // and LC_*
	"TMPDIR", "TMP", "TEMP",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	// Without the certificates of a company's proxy, no program reaches anything.
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "__CF_USER_TEXT_ENCODING",
	// Windows
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES",
	"ALLUSERSPROFILE", "PUBLIC", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
}

// Common reports whether each program gets the variable of this name. Upper and lower case are the
// same, as in http_proxy.
func Common(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "LC_") || slices.Contains(common, name)
}

// Of returns the environment of a program to start, a list of NAME=VALUE: the common variables of
// parent, the variables that passed names, and then set, whose values win. It is never nil, which
// would be the whole environment for os/exec.
func Of(parent, passed, set []string) []string {
	env := []string{}
	for _, variable := range parent {
		if name, _, _ := strings.Cut(variable, "="); Common(name) || slices.Contains(passed, name) {
			env = append(env, variable)
		}
	}
	return append(env, set...)
}

// Withheld names the variables of parent that a program with the environment env does not get, ""
// if it gets all. It lists only names that look like a credential or a provider's address.
func Withheld(parent, env []string) string {
	var listed []string
	others := 0
	for _, variable := range parent {
		name, value, _ := strings.Cut(variable, "=")
		got := slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		switch {
		case got || value == "":
		case LooksSecret(name) || HoldsSecret(name, value):
			listed = append(listed, name)
		default:
			others++
		}
	}
	slices.Sort(listed)
	switch {
	case len(listed) == 0 && others == 0:
		return ""
	case len(listed) == 0:
		return fmt.Sprintf("%d variables", others)
	case others == 0:
		return strings.Join(listed, ", ")
	}
	return fmt.Sprintf("%s, and %d other variables", strings.Join(listed, ", "), others)
}
