package brain

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"evalctl/daemon/protocol"
	"evalctl/daemon/store"
)

const (
	// brainVersion is the version of a record that names its folder. ownVersion is the version of
	// all others, which older programs read too.
	brainVersion = 2
	ownVersion   = 1
	// maxRecord is the largest brainFile in bytes. Metadata of clients is in it.
	maxRecord = 16 << 20
)

// brainRecord is the content of a brain.json. Tenant is missing if the brain was created while the
// daemon ran without keys. Folder is missing if the folder's name is the id of the brain.
type brainRecord struct {
	Version int            `json:"version"`
	Folder  string         `json:"folder,omitempty"`
	Tenant  string         `json:"tenant,omitempty"`
	Stored  bool           `json:"stored,omitempty"`
	Brain   protocol.Brain `json:"brain"`
}

// read returns the record of the brain in a folder, with its damage if it has any.
func (f *Folder) read(folder string) Record {
	r, err := f.parse(folder)
	if r.Folder != folder || !ValidID(r.Brain.ID) {
		r.Brain.ID, r.Folder = folder, ""
	}
	id := r.Brain.ID
	if _, newer := errors.AsType[*store.UnusableError](err); err != nil && !newer {
		cause := fmt.Errorf("%s: %w", filepath.Join(f.root.Name(), folder, brainFile), err)
		err = store.Damaged(cause, "the record of brain %s, the file %s in its folder, is missing or damaged: "+
			"restore it, or move the folder away, and restart the daemon", id, brainFile)
	}
	r.Damage = err
	return r
}

// parse returns the readable part of a record also if there is an error.
func (f *Folder) parse(folder string) (Record, error) {
	info, err := f.root.Lstat(folder + "/" + brainFile)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxRecord) {
		err = fmt.Errorf("is not a file of at most %d bytes", maxRecord)
	}
	if err != nil {
		return Record{}, err
	}
	data, err := f.root.ReadFile(folder + "/" + brainFile)
	if err != nil {
		return Record{}, err
	}
	var r brainRecord
	if err := json.Unmarshal(data, &r); err != nil {
		// A newer version may have changed the type of any other field.
		var format struct {
			Version int `json:"version"`
		}
		if json.Unmarshal(data, &format) == nil && format.Version > brainVersion {
			err = newerRecord(folder, format.Version)
		}
		return Record{}, err
	}
	record := Record{Brain: r.Brain, Folder: r.Folder, Tenant: r.Tenant, Stored: r.Stored}
	switch {
	case r.Version > brainVersion:
		return record, newerRecord(folder, r.Version)
	case r.Version != ownVersion && r.Version != brainVersion:
		return Record{}, fmt.Errorf("version %d is not %d or %d, which this program reads", r.Version, ownVersion, brainVersion)
	case r.Version == ownVersion && r.Brain.ID != folder:
		return Record{}, fmt.Errorf("names brain %q: rename the folder back", r.Brain.ID)
	case r.Version == brainVersion && r.Folder != folder:
		return Record{}, fmt.Errorf("names the folder %q: rename the folder back", r.Folder)
	}
	return record, checkBrain(r.Brain)
}

func newerRecord(id string, version int) error {
	return store.UnsupportedSchema("brain %s was written by a newer program: its record has version %d, "+
		"this program reads version %d: use the newer program", id, version, brainVersion)
}

func encodeRecord(r Record) ([]byte, error) {
	version := ownVersion
	if r.Folder != "" {
		version = brainVersion
	}
	data, err := json.MarshalIndent(brainRecord{version, r.Folder, r.Tenant, r.Stored, r.Brain}, "", "  ")
	return append(data, '\n'), err
}
