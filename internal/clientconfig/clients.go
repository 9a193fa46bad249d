// Package clientconfig knows how a desktop client is configured to start an MCP server: where each
// client keeps its configuration, and the entry to add there. It reads and writes no file.
package clientconfig

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Client is a program whose configuration lists MCP servers.
type Client struct {
	ID, Name string
	// section is the object of the servers in the JSON file. It is empty for a TOML file.
	section string
	// typed clients require the type of the transport in an entry.
	typed bool
	// file returns the path of the user's configuration.
	file func(Places) string
	// add is the beginning of the client's own command that adds a server, empty if it has none.
	add string
	// Then is the user's next step after the file was changed, a sentence.
	Then string
}

// clients are all known clients. Paths and formats follow their own documentation, except Claude
// Desktop's path on Linux, which it does not describe.
var clients = []Client{
	{ID: "claude-code", Name: "Claude Code", section: "mcpServers", typed: true,
		file: func(Places) string { return ".mcp.json" },
		add:  "claude mcp add --scope user", Then: "Start claude in this folder and approve the server."},
	{ID: "claude-desktop", Name: "Claude Desktop", section: "mcpServers",
		file: func(p Places) string { return filepath.Join(p.settings, "Claude", "claude_desktop_config.json") },
		Then: "Quit and restart Claude Desktop."},
	{ID: "codex", Name: "Codex",
		file: func(p Places) string { return filepath.Join(p.codex, "config.toml") },
		add:  "codex mcp add", Then: "Restart Codex."},
	{ID: "cursor", Name: "Cursor", section: "mcpServers",
		file: func(p Places) string { return filepath.Join(p.home, ".cursor", "mcp.json") },
		Then: "Restart Cursor."},
	{ID: "gemini", Name: "Gemini CLI", section: "mcpServers",
		file: func(p Places) string { return filepath.Join(p.home, ".gemini", "settings.json") },
		Then: "Restart Gemini CLI."},
	{ID: "vscode", Name: "VS Code", section: "servers", typed: true,
		file: func(p Places) string { return filepath.Join(p.settings, "Code", "User", "mcp.json") },
		Then: "Start the server from the command MCP: List Servers."},
	{ID: "windsurf", Name: "Windsurf", section: "mcpServers",
		file: func(p Places) string { return filepath.Join(p.home, ".codeium", "windsurf", "mcp_config.json") },
		Then: "Refresh the MCP servers of Cascade."},
	{ID: "zed", Name: "Zed", section: "context_servers",
		file: func(p Places) string { return filepath.Join(p.zed, "settings.json") },
		Then: "Zed loads the change by itself."},
}

// Places are the folders in which clients keep their configurations.
type Places struct{ home, settings, zed, codex string }

// FindPlaces returns the folders of the user on an operating system, one of runtime.GOOS. env returns
// the value of an environment variable, empty if it is not set.
func FindPlaces(goos string, env func(string) string) (Places, error) {
	variable := "HOME"
	if goos == "windows" {
		variable = "USERPROFILE"
	}
	p := Places{home: env(variable)}
	if p.home == "" {
		return p, fmt.Errorf("your home folder is unknown: set %s", variable)
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

// Find returns the client with an id.
func Find(id string) (Client, error) {
	var ids []string
	for _, c := range clients {
		if c.ID == id {
			return c, nil
		}
		ids = append(ids, c.ID)
	}
	return Client{}, fmt.Errorf("client %q is unknown; the clients are %s", id, strings.Join(ids, ", "))
}

// File returns the path of the user's configuration, or of the project's in the current folder.
func (c Client) File(p Places) string { return c.file(p) }
