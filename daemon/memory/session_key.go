package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"evalctl/daemon/brain"
	"evalctl/daemon/protocol"
)

// sessionsDir contains a folder for each session.
const sessionsDir = "sessions"

// checkSessionID accepts 1 to 128 code points of printable text, and format characters, which some
// scripts and emoji need.
func checkSessionID(id string) error {
	if err := checkText("session_id", id, protocol.MaxSessionID); err != nil {
		return err
	}
	if !utf8.ValidString(id) {
		return argumentErrorf("session_id", "is not valid UTF-8")
	}
	if i := strings.IndexFunc(id, unprintable); i >= 0 {
		return argumentErrorf("session_id", "%.64q contains an unprintable character", id)
	}
	return nil
}

func unprintable(r rune) bool {
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029'
}

// sessionKey returns the name of a session's folder and of files derived from the session: the id
// if it is a plain file name, otherwise a readable part of the id and its SHA-256. A plain name
// contains no "=", so the two forms cannot collide. Upper case is not plain, because some file
// systems ignore case.
func sessionKey(id string) string {
	if plainKey(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	readable := brain.Slug("session", id)
	return readable[:min(len(readable), maxPlainKey)] + "=" + hex.EncodeToString(sum[:])
}

// maxPlainKey leaves room for the rest of file names that contain a key, in bytes.
const maxPlainKey = 64

func plainKey(id string) bool {
	if id == "" || len(id) > maxPlainKey || strings.HasSuffix(id, ".") {
		return false
	}
	for i := range len(id) {
		c := id[i]
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_' && c != '.') {
			return false
		}
	}
	return true
}

func sessionFile(id, name string) string { return path.Join(sessionsDir, sessionKey(id), name) }

// Segments are numbered from 1. A segment is a range of messages. It has the messages themselves,
// which are authoritative, and a transcript for readers and for the search.
func messagesPath(id string, segment int) string {
	return sessionFile(id, fmt.Sprintf("_messages-%04d.jsonl", segment))
}

func transcriptPath(id string, segment int) string {
	return sessionFile(id, fmt.Sprintf("transcript-%04d.md", segment))
}
