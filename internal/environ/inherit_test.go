package environ

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// testSupport are the folders of packages that only tests use.
var testSupport = []string{"daemon/store/storetest", "internal/postgres/postgrestest", "internal/programtest"}

// TestNothingInherits: no function starts a program without saying which environment it gets. A
// program that is started with a nil Env inherits everything.
func TestNothingInherits(t *testing.T) {
	root := filepath.Join("..", "..")
	starting := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		below, _ := filepath.Rel(root, path)
		below = filepath.ToSlash(below)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || slices.Contains(testSupport, below) || strings.HasPrefix(d.Name(), ".") && below != "."):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declaration := range file.Decls {
			if starts(declaration) {
				if starting++; !setsEnvironment(declaration) {
					t.Errorf("%s: it starts a program whose environment is not from package environ", set.Position(declaration.Pos()))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if starting < 6 {
		t.Errorf("only %d functions start a program: the test does not see them", starting)
	}
}

// starts reports whether a declaration starts a program.
func starts(n ast.Node) bool {
	return calls(n, "exec.Command", "exec.CommandContext", "os.StartProcess", "syscall.ForkExec", "syscall.StartProcess") || literal(n, "exec.Cmd") != nil
}

// setsEnvironment reports whether a declaration sets the environment of what it starts to one of Of,
// or to one that it was given.
func setsEnvironment(n ast.Node) bool {
	if attributes := literal(n, "os.ProcAttr"); attributes != nil {
		return slices.ContainsFunc(attributes.Elts, func(e ast.Expr) bool {
			pair, ok := e.(*ast.KeyValueExpr)
			return ok && name(pair.Key) == "Env"
		})
	}
	assigned := false
	ast.Inspect(n, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok {
			assigned = assigned || strings.HasSuffix(name(a.Lhs[0]), ".Env")
		}
		return true
	})
	// programEnv of package gitstore is Of, or the environment of the user who asked for it.
	return assigned && calls(n, "environ.Of", "programEnv")
}

// calls reports whether one of these functions is called below n.
func calls(n ast.Node, functions ...string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok {
			found = found || slices.Contains(functions, name(c.Fun))
		}
		return true
	})
	return found
}

// literal returns a composite literal of a type below n, nil if there is none.
func literal(n ast.Node, of string) (found *ast.CompositeLit) {
	ast.Inspect(n, func(n ast.Node) bool {
		if c, ok := n.(*ast.CompositeLit); ok && name(c.Type) == of {
			found = c
		}
		return true
	})
	return found
}

// name returns the dotted name of an expression, "" if it has none.
func name(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return name(e.X) + "." + e.Sel.Name
	}
	return ""
}
