package httpapi

import (
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// minPrefix is the shortest beginning of a hash that RevokeKey accepts.
const minPrefix = 6

// RevokeKey marks a key of a file as revoked and returns the revoked key. The key is the one with
// the name which, or with a hash that begins with which. It keeps its entry, so that its name still
// explains the lines of a log, and its token is refused with the reason. If it was already revoked,
// or if not exactly one key matches, the file is unchanged. The file is replaced as by AddKey.
func RevokeKey(file, which string, now time.Time) (revoked Key, before bool, err error) {
	keys, err := ReadKeys(file)
	if err != nil {
		return Key{}, false, err
	}
	if _, err := findKey(keys.List(), which); err != nil {
		return Key{}, false, fmt.Errorf("%s: %w", file, err)
	}
	done := func() error { return nil }
	err = editKeys(file, done, func(data []byte) ([]byte, error) {
		keys, err := ParseKeys(file, data)
		if err != nil {
			return nil, err
		}
		all := keys.List()
		i, err := findKey(all, which)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if revoked = all[i]; !revoked.Revoked.IsZero() {
			before = true
			return data, nil
		}
		all[i].Revoked = NewKeyTime(now)
		revoked = all[i]
		return markRevoked(file, data, all, i)
	})
	return revoked, before, err
}

// findKey returns the index of the key that a person calls which.
func findKey(keys []Key, which string) (int, error) {
	var found []int
	for i, k := range keys {
		byHash := len(which) >= minPrefix && strings.HasPrefix(strings.ToLower(k.SHA256), strings.ToLower(which))
		if k.Name == which || byHash {
			found = append(found, i)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("no key has the name %q or an id that begins with it (at least %d digits): "+
			"see evalctl serve keys list", which, minPrefix)
	}
	var names []string
	for _, i := range found {
		names = append(names, fmt.Sprintf("%s (%s)", keys[i].Name, keys[i].ID()))
	}
	return 0, fmt.Errorf("%q may mean %s: use more digits of the id, or another name", which, strings.Join(names, " or "))
}

// markRevoked returns the new content of a file with the keys all. Key i of them is newly revoked.
func markRevoked(file string, data []byte, all []Key, i int) ([]byte, error) {
	layout := fmt.Errorf("%s: revoke key %q: the file's layout does not allow it: "+
		"write keys as a plain list", file, all[i].Name)
	if filepath.Ext(file) == ".json" {
		return renderJSON(all)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, keysError(file, err)
	}
	list := keysNode(doc.Content[0])
	if list.Kind != yaml.SequenceNode || len(list.Content) != len(all) || list.Content[i].Kind != yaml.MappingNode {
		return nil, layout
	}
	var entry yaml.Node
	if err := entry.Encode(struct {
		Revoked KeyTime `yaml:"revoked"`
	}{all[i].Revoked}); err != nil {
		return nil, err
	}
	list.Content[i].Content = append(list.Content[i].Content, entry.Content...)
	setVersion(doc.Content[0], versionOf(all))
	out, err := renderYAML(&doc)
	if err != nil {
		return nil, err
	}
	if keys, err := ParseKeys(file, out); err != nil || !reflect.DeepEqual(keys.List(), all) {
		return nil, layout
	}
	return out, nil
}
