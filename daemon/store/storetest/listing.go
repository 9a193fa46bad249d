package storetest

import (
	"errors"
	"time"

	"evalctl/daemon/store"
)

const listDocs = "_top=0 a.md=1 a0=2 a/b.md=3 a/_b.md=4 a/c/d.md=5 _g/x.md=6 _g/y.txt=7 h/_only=8 z/.hidden=9"

// list returns a case that lists listDocs.
func list(name, dir string, opts store.ListOptions, want string) scenario {
	return scenario{name: name, before: sorted(listDocs), readOnly: true,
		do: check(func(p *probe) { p.wantList(p, dir, opts, want) })}
}

var listCases = []scenario{
	{name: "empty store", readOnly: true, do: check(func(p *probe) {
		p.wantList(p, "", store.ListOptions{}, "")
		p.wantList(p, "", store.ListOptions{Recursive: true}, "")
	})},
	list("root", "", store.ListOptions{}, "a/ a.md a0 h/ z/"),
	list("root with generated", "", store.ListOptions{IncludeGenerated: true}, "_g/ _top a/ a.md a0 h/ z/"),
	list("root recursive", "", store.ListOptions{Recursive: true},
		"_g/x.md _g/y.txt a.md a/b.md a/c/d.md a0 z/.hidden"),
	list("root recursive with generated", "", store.ListOptions{Recursive: true, IncludeGenerated: true},
		"_g/x.md _g/y.txt _top a.md a/_b.md a/b.md a/c/d.md a0 h/_only z/.hidden"),
	list("directory", "a", store.ListOptions{}, "a/b.md a/c/"),
	list("directory with generated", "a", store.ListOptions{IncludeGenerated: true}, "a/_b.md a/b.md a/c/"),
	list("directory recursive", "a", store.ListOptions{Recursive: true}, "a/b.md a/c/d.md"),
	list("generated directory", "_g", store.ListOptions{}, "_g/x.md _g/y.txt"),
	list("only generated files", "h", store.ListOptions{}, ""),
	list("missing directory", "nowhere", store.ListOptions{}, ""),
	list("missing directory recursive", "nowhere", store.ListOptions{Recursive: true}, ""),
	list("document as directory", "a.md", store.ListOptions{}, ""),
	list("document as directory recursive", "a.md", store.ListOptions{Recursive: true}, ""),
	list("below a document", "a.md/b", store.ListOptions{}, ""),
	list("glob", "", store.ListOptions{Glob: "*.md"}, "a.md"),
	list("glob recursive", "", store.ListOptions{Recursive: true, Glob: "*.md"}, "_g/x.md a.md a/b.md a/c/d.md"),
	list("glob applies to directories", "", store.ListOptions{Glob: "a*"}, "a/ a.md a0"),
	list("glob applies to base names only", "", store.ListOptions{Recursive: true, Glob: "a/*"}, ""),
	list("glob does not show generated", "", store.ListOptions{Recursive: true, Glob: "_*"}, ""),
	list("glob with generated", "", store.ListOptions{Recursive: true, Glob: "_*", IncludeGenerated: true},
		"_top a/_b.md h/_only"),
	list("glob one character", "", store.ListOptions{Glob: "a?"}, "a0"),
	list("glob set", "", store.ListOptions{Recursive: true, Glob: "[b-d].md"}, "a/b.md a/c/d.md"),
	list("glob negated set", "", store.ListOptions{Recursive: true, Glob: "[!b-d].md"}, "_g/x.md a.md"),
	list("glob other negation", "", store.ListOptions{Recursive: true, Glob: "[^b-d].md"}, "_g/x.md a.md"),
	list("glob dot is ordinary", "z", store.ListOptions{Glob: "*"}, "z/.hidden"),
	{name: "glob malformed", before: "a=1", wantErr: store.ErrInvalidPath, do: func(p *probe) error {
		_, err := p.List(p.ctx, "", store.ListOptions{Glob: "[a"})
		return err
	}},
	{name: "glob malformed on an empty store", wantErr: store.ErrInvalidPath, do: func(p *probe) error {
		_, err := p.List(p.ctx, "", store.ListOptions{Glob: "[z-a]"})
		return err
	}},
	{name: "entries agree with stat", before: sorted(listDocs), readOnly: true, do: check(func(p *probe) {
		files, err := p.List(p.ctx, "", store.ListOptions{})
		if err != nil {
			p.Fatal(err)
		}
		for _, f := range files {
			if info, err := p.Stat(p.ctx, f.Path); info != f {
				p.Errorf("list %+v, stat %+v, %v", f, info, err)
			}
		}
	})},
	{name: "times do not go backwards", before: "a=1", do: func(p *probe) error {
		old, err := p.Stat(p.ctx, "a")
		err = errors.Join(err, p.Write(p.ctx, "a", []byte("2")))
		now, err2 := p.Stat(p.ctx, "a")
		if now.ModTime.Before(old.ModTime) || now.ModTime.Location() != time.UTC {
			p.Errorf("%v, then %v", old.ModTime, now.ModTime)
		}
		return errors.Join(err, err2)
	}, after: "a=2", events: "updated a"},
}
