package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"

	"github.com/gofrs/flock"
	"go.yaml.in/yaml/v3"

	"evalctl/internal/atomicfile"
	"evalctl/internal/inputfile"
)

// ReadKeys reads a keys file, which must contain at least one key. See ParseKeys.
func ReadKeys(file string) (*Keys, error) {
	data, err := inputfile.Read(file, inputfile.Small)
	if err != nil {
		return nil, fmt.Errorf("keys file: %w: create one with evalctl serve keys create", err)
	}
	keys, err := ParseKeys(file, data)
	if err != nil {
		return nil, err
	}
	if len(keys.callers()) == 0 {
		return nil, fmt.Errorf("%s: contains no key: add one with evalctl serve keys create", file)
	}
	return keys, nil
}

// AddKey appends a key to a keys file, which is created if it is missing. The file is replaced
// atomically, is readable only by its owner, and keeps its comments. If it is a symbolic link, the
// target is replaced. AddKey calls deliver when the new file is complete and about to replace the
// old one. An error of deliver leaves the old file unchanged, so that no key remains whose token
// was not delivered.
//
// Concurrent calls wait for each other on FILE.lock, which is not removed.
func AddKey(file string, k Key, deliver func() error) error {
	return editKeys(file, deliver, func(data []byte) ([]byte, error) { return extend(file, data, k) })
}

// editKeys replaces the content of a keys file, empty if it is missing, by the result of edit. See
// AddKey.
func editKeys(file string, ready func() error, edit func([]byte) ([]byte, error)) error {
	target, err := linked(file)
	if err != nil {
		return fmt.Errorf("keys file: %w", err)
	}
	lock := flock.New(target + lockSuffix)
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("lock the keys file: %w", err)
	}
	defer func() { _ = lock.Close() }()
	data, err := inputfile.Read(target, inputfile.Small)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keys file: %w", err)
	}
	if data, err = edit(data); err != nil {
		return err
	}
	return replaceFile(target, data, ready)
}

// lockSuffix names the file next to a keys file that is locked while the keys file is replaced.
const lockSuffix = ".lock"

// linked follows symbolic links. It returns a missing file unchanged. A link to a missing file is
// an error, because the link says that the file should be elsewhere.
func linked(file string) (string, error) {
	target, err := filepath.EvalSymlinks(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return target, err
	}
	if info, lstatErr := os.Lstat(file); lstatErr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return "", fmt.Errorf("%s is a symbolic link to a file that does not exist: "+
			"create that file, empty, or remove the link", file)
	}
	return file, nil
}

// extend returns the content of a file with one more key. It checks that the result parses to the
// old keys and the new one.
func extend(file string, data []byte, k Key) ([]byte, error) {
	keys, err := ParseKeys(file, data)
	if err != nil {
		return nil, err
	}
	c, err := newCaller(k)
	if err == nil {
		err = collision(keys.callers(), c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: key %q: %w", file, k.Name, err)
	}
	all := append(keys.List(), k)
	if data, err = appendKey(file, data, all); err != nil {
		return nil, fmt.Errorf("%s: add key %q: %w", file, k.Name, err)
	}
	if keys, err = ParseKeys(file, data); err != nil || !reflect.DeepEqual(keys.List(), all) {
		return nil, fmt.Errorf("%s: add key %q: the file's layout does not allow it: "+
			"write keys as a plain list", file, k.Name)
	}
	return data, nil
}

// appendKey returns the new content of a file. The last of keys is the new one.
func appendKey(file string, data []byte, keys []Key) ([]byte, error) {
	if filepath.Ext(file) == ".json" {
		return renderJSON(keys)
	}
	// Nodes keep the comments of the file.
	var doc, whole yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	if err := whole.Encode(keysFile{versionOf(keys), keys}); err != nil {
		return nil, err
	}
	if doc.Kind == 0 { // only comments
		out, err := renderYAML(&whole)
		return append(data, out...), err
	}
	old, all := keysNode(doc.Content[0]), keysNode(&whole)
	if old.Kind == yaml.SequenceNode && len(old.Content) > 0 {
		old.Content = append(old.Content, all.Content[len(keys)-1])
	} else {
		*old = *all
	}
	setVersion(doc.Content[0], versionOf(keys))
	return renderYAML(&doc)
}

// versionOf returns the lowest file version that can represent the keys, 0 for the first one, which
// older programs read.
func versionOf(keys []Key) int {
	for _, k := range keys {
		if !k.Created.IsZero() || !k.Expires.IsZero() || !k.Revoked.IsZero() {
			return keysVersion
		}
	}
	return 0
}

// setVersion sets the version of a file unless it is 0.
func setVersion(root *yaml.Node, version int) {
	if version == 0 || root.Kind != yaml.MappingNode {
		return
	}
	value := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(version)}
	if old := valueOf(root, "version"); old != nil {
		*old = value
		return
	}
	key := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "version"}
	if len(root.Content) > 0 { // comments above the first field stay at the top
		key.HeadComment, root.Content[0].HeadComment = root.Content[0].HeadComment, ""
	}
	root.Content = append([]*yaml.Node{key, &value}, root.Content...)
}

func renderJSON(keys []Key) ([]byte, error) {
	out, err := json.MarshalIndent(keysFile{versionOf(keys), keys}, "", "  ")
	return append(out, '\n'), err
}

func renderYAML(node *yaml.Node) ([]byte, error) {
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	err := errors.Join(enc.Encode(node), enc.Close())
	return out.Bytes(), err
}

// keysNode returns the value of keys in the root of a document that ParseKeys accepts, or the root
// itself if there is none.
func keysNode(root *yaml.Node) *yaml.Node {
	if node := valueOf(root, "keys"); node != nil {
		return node
	}
	return root
}

// valueOf returns the value of a field of a mapping, or nil.
func valueOf(mapping *yaml.Node, name string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == name {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// replaceFile calls ready after the new content is on the disk, and before it replaces the old.
func replaceFile(file string, data []byte, ready func() error) error {
	f, err := atomicfile.Create(file, 0o600)
	if err != nil {
		return fmt.Errorf("write the keys file: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync()); err != nil {
		return errors.Join(fmt.Errorf("write the keys file: %w", err), f.Discard())
	}
	if err := ready(); err != nil {
		return errors.Join(err, f.Discard())
	}
	if err := f.Commit(); err != nil {
		return fmt.Errorf("write the keys file: %w", err)
	}
	return nil
}
