package environ

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// folders are the variables for the places of a user's files, each with its place in a home. The
// folder tmp is for temporary files.
var folders = []struct{ name, in string }{
	{"HOME", ""},
	{"USERPROFILE", ""},
	{"APPDATA", "AppData/Roaming"},
	{"LOCALAPPDATA", "AppData/Local"},
	{"XDG_CONFIG_HOME", ".config"},
	{"XDG_DATA_HOME", ".local/share"},
	{"XDG_STATE_HOME", ".local/state"},
	{"XDG_CACHE_HOME", ".cache"},
	{"XDG_RUNTIME_DIR", ".run"},
	{"TMPDIR", "tmp"},
	{"TMP", "tmp"},
	{"TEMP", "tmp"},
}

// place is a variable, and its usual value below the value of another one.
type place struct{ name, below, in string }

// tools are the variables by which package managers and language runtimes find the user's installed
// packages. Each has its usual place below the home, or below the folder of caches, configurations
// or data. These places have programs and packages, not what programs remember.
var tools = []place{
	{"COREPACK_HOME", "XDG_CACHE_HOME", "node/corepack"},
	{"PNPM_HOME", "XDG_DATA_HOME", "pnpm"},
	{"VOLTA_HOME", "HOME", ".volta"},
	{"NVM_DIR", "HOME", ".nvm"},
	{"BUN_INSTALL", "HOME", ".bun"},
	{"DENO_DIR", "XDG_CACHE_HOME", "deno"},
	{"ASDF_DATA_DIR", "HOME", ".asdf"},
	{"MISE_DATA_DIR", "XDG_DATA_HOME", "mise"},
	{"MISE_CONFIG_DIR", "XDG_CONFIG_HOME", "mise"},
	{"PYENV_ROOT", "HOME", ".pyenv"},
	{"PYTHONUSERBASE", "HOME", ".local"},
	{"PIPX_HOME", "XDG_DATA_HOME", "pipx"},
	{"UV_TOOL_DIR", "XDG_DATA_HOME", "uv/tools"},
	{"UV_PYTHON_INSTALL_DIR", "XDG_DATA_HOME", "uv/python"},
	{"HF_HUB_CACHE", "XDG_CACHE_HOME", "huggingface/hub"},
	{"GOPATH", "HOME", "go"},
	{"GOCACHE", "XDG_CACHE_HOME", "go-build"},
	{"CARGO_HOME", "HOME", ".cargo"},
	{"RUSTUP_HOME", "HOME", ".rustup"},
	{"NUGET_PACKAGES", "HOME", ".nuget/packages"},
}

// downloads are like tools, for the downloads of programs that start others: npx, uvx and pipx. The
// configuration of the user may name another place for them.
var downloads = []struct{ place, configuration place }{
	{place{"npm_config_cache", "HOME", ".npm"}, place{"npm_config_userconfig", "HOME", ".npmrc"}},
	{place{"PIP_CACHE_DIR", "XDG_CACHE_HOME", "pip"}, place{"PIP_CONFIG_FILE", "XDG_CONFIG_HOME", "pip/pip.conf"}},
	{place{"UV_CACHE_DIR", "XDG_CACHE_HOME", "uv"}, place{"UV_CONFIG_FILE", "XDG_CONFIG_HOME", "uv/uv.toml"}},
}

// of returns the place of the user of parent, "" if there is none.
func (p place) of(parent []string) string {
	if at := lookup(parent, p.name); at != "" {
		return at
	}
	base := lookup(parent, p.below)
	if base == "" {
		base = usual(parent, p.below)
	}
	if base == "" {
		return ""
	}
	at := filepath.Join(base, filepath.FromSlash(p.in))
	if _, err := os.Stat(at); err != nil {
		return ""
	}
	return at
}

// Home returns the variables of a program whose user has the home dir, and the folders that the
// caller must create before it starts the program. The tools that the user of parent has installed
// stay within reach: their variables are taken from parent, or are the usual places if they exist.
// Where parent's user has no folder for downloads and no configuration, they are below the folder
// shared, unless it is empty.
func Home(dir, shared string, parent []string) (env, create []string) {
	for _, f := range folders {
		at := filepath.Join(dir, filepath.FromSlash(f.in))
		env = append(env, f.name+"="+at)
		if !slices.Contains(create, at) && !strings.HasPrefix(f.in, "AppData") {
			create = append(create, at)
		}
	}
	for _, t := range tools {
		if at := t.of(parent); at != "" {
			env = append(env, t.name+"="+at)
		}
	}
	for _, d := range downloads {
		at, config := d.place.of(parent), d.configuration.of(parent)
		if at == "" && config == "" && shared != "" {
			at = filepath.Join(shared, strings.ToLower(d.place.name))
		}
		if at != "" {
			env = append(env, d.place.name+"="+at)
		}
		if config != "" {
			env = append(env, d.configuration.name+"="+config)
		}
	}
	return env, create
}

// usual returns the place of a folder in the home of the user of parent, "" without a home.
func usual(parent []string, name string) string {
	home := lookup(parent, "HOME")
	i := slices.IndexFunc(folders, func(f struct{ name, in string }) bool { return f.name == name })
	if home == "" || i < 0 {
		return ""
	}
	return filepath.Join(home, filepath.FromSlash(folders[i].in))
}

// lookup returns the last value of a variable in a list of NAME=VALUE.
func lookup(env []string, name string) string {
	for _, variable := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(variable, name+"="); ok {
			return value
		}
	}
	return ""
}
