package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/internal/filetest"
	"evalctl/internal/sharedtest"
)

// TestAuditPublished runs the commands of docs/audit.md with published files in the place of the
// small ones. Their rates are those of their authors.
func TestAuditPublished(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it runs every command of the page")
	}
	s := &session{t: t, dir: t.TempDir()}
	folder := filepath.Join(s.dir, "datasets", "audit")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"talks.json": "locomo/locomo5.json", "answers.json": "imports/zep_locomo_grades.json",
		"other.json": "imports/memobase_eval_0503_3000.json", "wrong.json": "imports/audit_wrong_on_purpose_v1_scored.json",
	} {
		if err := os.Symlink(sharedtest.Path(t, path), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	page := filetest.Read(t, "../../docs/audit.md")
	var printed strings.Builder
	n := 0
	for _, block := range strings.Split(string(page), "```console\n")[1:] {
		block, _, _ = strings.Cut(block, "```\n")
		for _, shown := range s.commands(block) {
			n++
			printed.WriteString(s.run(strings.ReplaceAll(shown.command, "mara-jon-q004", "conv-26-q004")))
		}
	}
	if n != 10 {
		t.Errorf("the page has %d commands", n)
	}
	for _, want := range []string{
		"diary: 551/719 pass_rate=0.766", "notes: 507/719 pass_rate=0.705", "wrong: 92/719 pass_rate=0.128",
		"same sign under all 3 recipes",
	} {
		if !strings.Contains(printed.String(), want) {
			t.Errorf("nothing printed %q:\n%s", want, printed.String())
		}
	}
}
