package faulttest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// foreignFiles are what other programs leave in a folder, or what a user puts there by mistake.
var foreignFiles = []string{
	".DS_Store", "Thumbs.db", ".localized", "._note.md",
	".note.md.swp", ".#note.md", "#note.md#", "note.md~", "~$note.docx", ".~lock.note.odt#",
	".obsidian/workspace.json", ".obsidian/plugins/one/data.json", ".trash/old.md", ".Trash-1000/info/old.md",
	"note.sync-conflict-20260101-120000-ABCDEFG.md", "note (conflicted copy 2026-01-01).md", ".stfolder/id",
	`back\slash.md`, "invalid-\xff.md", "line\nbreak.md", " space .md", "con.md", "aux", "what?.md", "a:b.md",
	strings.Repeat("n", 252) + ".md", strings.Repeat("deep/", 130) + "note.md",
	"empty.md", "folder.md/inside.md", "binary.md", "unclosed.md", "closed.md",
}

// dropFiles puts foreign files into every folder of the store.
func dropFiles(s *site, _ int) error {
	s.foreign = func(path string) bool {
		return !strings.HasPrefix(path, "c") || strings.HasPrefix(path, "con") || path == "closed.md"
	}
	if s.home == "" {
		// The server opens every file of its own folder when it has crashed: a pipe would stop it.
		return dropRegular(s.cluster.Data())
	}
	folders := []string{s.home, filepath.Join(s.home, "brains")}
	for i := range s.brains {
		folders = append(folders, s.brainFolder(i), s.documentsFolder(i))
	}
	for _, folder := range folders {
		if err := errors.Join(dropRegular(folder), dropSpecial(folder)); err != nil {
			return err
		}
	}
	return nil
}

func dropRegular(folder string) error {
	contents := map[string]string{
		"empty.md": "", "binary.md": "\x00\xff\xfe", "unclosed.md": "---\ntitle: [\n",
	}
	for _, name := range foreignFiles {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		content, ok := contents[name]
		if !ok {
			content = "# Not a note of any client\n"
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return os.Chmod(filepath.Join(folder, "closed.md"), 0)
}

// dropSpecial makes what is no regular file.
func dropSpecial(folder string) error {
	for name, target := range map[string]string{
		"link.md": "/etc/hostname", "dangling.md": "/nowhere/note.md", "outside": "/etc", "loop": ".", "device.md": "/dev/zero",
	} {
		if err := os.Symlink(target, filepath.Join(folder, name)); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if err := syscall.Mkfifo(filepath.Join(folder, "pipe.md"), 0o644); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	socket := filepath.Join(folder, "socket.md")
	if _, err := os.Lstat(socket); err == nil {
		return nil
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}
