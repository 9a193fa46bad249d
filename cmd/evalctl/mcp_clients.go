package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// desktopClient is a program whose configuration lists MCP servers.
type desktopClient struct {
	id, name string
	// section is the object of the servers in the JSON file. It is empty for a TOML file.
	section string
	// typed clients require the type of the transport in an entry.
	typed bool
	// file returns the path of the user's configuration.
	file func(places) string
	// add is the beginning of the client's own command that adds a server, empty if it has none.
	add string
	// then is what to do after the file was changed.
	then string
}

// desktopClients are the clients that mcp install knows. Paths and formats are those of their own
// documentation, except Claude Desktop's path on Linux, which it does not describe.
var desktopClients = []desktopClient{
	{id: "claude-code", name: "Claude Code", section: "mcpServers", typed: true,
		file: func(places) string { return ".mcp.json" },
		add:  "claude mcp add --scope user", then: "Start claude in this folder and approve the server."},
	{id: "claude-desktop", name: "Claude Desktop", section: "mcpServers",
		file: func(p places) string { return filepath.Join(p.settings, "Claude", "claude_desktop_config.json") },
		then: "Quit and restart Claude Desktop."},
	{id: "codex", name: "Codex",
		file: func(p places) string { return filepath.Join(p.codex, "config.toml") },
		add:  "codex mcp add", then: "Restart Codex."},
	{id: "cursor", name: "Cursor", section: "mcpServers",
		file: func(p places) string { return filepath.Join(p.home, ".cursor", "mcp.json") },
		then: "Restart Cursor."},
	{id: "gemini", name: "Gemini CLI", section: "mcpServers",
		file: func(p places) string { return filepath.Join(p.home, ".gemini", "settings.json") },
		then: "Restart Gemini CLI."},
	{id: "vscode", name: "VS Code", section: "servers", typed: true,
		file: func(p places) string { return filepath.Join(p.settings, "Code", "User", "mcp.json") },
		then: "Start the server from the command MCP: List Servers."},
	{id: "windsurf", name: "Windsurf", section: "mcpServers",
		file: func(p places) string { return filepath.Join(p.home, ".codeium", "windsurf", "mcp_config.json") },
		then: "Refresh the MCP servers of Cascade."},
	{id: "zed", name: "Zed", section: "context_servers",
		file: func(p places) string { return filepath.Join(p.zed, "settings.json") },
		then: "Zed loads the change by itself."},
}

// places are the folders in which clients keep their configurations.
type places struct{ home, settings, zed, codex string }

// findPlaces returns the folders of the user on an operating system.
func findPlaces(goos string, env func(string) string) (places, error) {
	variable := "HOME"
	if goos == "windows" {
		variable = "USERPROFILE"
	}
	p := places{home: env(variable)}
	if p.home == "" {
		return p, fmt.Errorf("your home folder is unknown: set %s, or --file", variable)
	}
	config := filepath.Join(p.home, ".config")
	p.zed = filepath.Join(config, "zed")
	switch goos {
	case "darwin":
		p.settings = filepath.Join(p.home, "Library", "Application Support")
	case "windows":
		if p.settings = env("APPDATA"); p.settings == "" {
			p.settings = filepath.Join(p.home, "AppData", "Roaming")
		}
		p.zed = filepath.Join(p.settings, "Zed")
	default:
		if set := env("XDG_CONFIG_HOME"); filepath.IsAbs(set) { // a relative one must be ignored
			config = set
		}
		p.settings, p.zed = config, filepath.Join(config, "zed")
	}
	p.codex = env("CODEX_HOME")
	if p.codex == "" {
		p.codex = filepath.Join(p.home, ".codex")
	}
	return p, nil
}

// findClient returns the client with an id.
func findClient(id string) (desktopClient, error) {
	var ids []string
	for _, c := range desktopClients {
		if c.id == id {
			return c, nil
		}
		ids = append(ids, c.id)
	}
	return desktopClient{}, fmt.Errorf("client %q is unknown; the clients are %s", id, strings.Join(ids, ", "))
}

// serverEntry is the entry of a server in a configuration.
type serverEntry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"`
	Args    []string `json:"args"`
	// EnvVars are the names of variables that the client passes on. Only Codex has them.
	EnvVars []string `json:"-"`
}
