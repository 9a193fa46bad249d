package home

import (
	"fmt"
	"path/filepath"
)

// Folder returns the absolute path of a home: the given one, or else evalctl in the user's folder for
// data on an operating system, one of runtime.GOOS.
func Folder(given, goos string, env func(string) string) (string, error) {
	if given != "" {
		return filepath.Abs(given)
	}
	data, err := dataFolder(goos, env)
	if err != nil {
		return "", fmt.Errorf("%w, or --home", err)
	}
	return filepath.Abs(filepath.Join(data, "evalctl"))
}

// dataFolder returns the folder for data of programs of the user.
func dataFolder(goos string, env func(string) string) (string, error) {
	variable, below := "HOME", []string{".local", "share"}
	switch {
	case goos == "windows":
		variable, below = "LocalAppData", nil
	case goos == "darwin":
		below = []string{"Library", "Application Support"}
	case filepath.IsAbs(env("XDG_DATA_HOME")): // a relative one must be ignored
		return env("XDG_DATA_HOME"), nil
	}
	if env(variable) == "" {
		return "", fmt.Errorf("no folder for data: set %s", variable)
	}
	return filepath.Join(append([]string{env(variable)}, below...)...), nil
}
