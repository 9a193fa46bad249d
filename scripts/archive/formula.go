package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// formula is the formula for Homebrew. The archives of a platform may be missing.
var formula = template.Must(template.New("").Parse(`class Evalctl < Formula
  desc "Evaluate and benchmark memory services"
  homepage "{{.URL}}"
  version "{{.Version}}"
  license "Apache-2.0"
{{range .Systems}}
  on_{{.Name}} do
{{- range .Archives}}
    on_{{.CPU}} do
      url "{{.URL}}"
      sha256 "{{.Sum}}"
    end
{{- end}}
  end
{{end}}
  def install
    bin.install "evalctl"
    generate_completions_from_executable(bin/"evalctl", "completion")
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/evalctl --version")
  end
end
`))

type archiveOf struct{ CPU, URL, Sum string }

type systemOf struct {
	Name     string
	Archives []archiveOf
}

// writeFormula writes evalctl.rb with the archives that are in sums and will be published at a URL.
func writeFormula(folder, version, url string, sums map[string]string) error {
	if strings.ContainsAny(url, "\"\\#") {
		return fmt.Errorf("the URL %q has characters that a URL must encode", url)
	}
	url = strings.TrimSuffix(url, "/")
	var systems []systemOf
	for _, s := range [][2]string{{"macos", "darwin"}, {"linux", "linux"}} {
		system := systemOf{Name: s[0]}
		for _, c := range [][2]string{{"arm", "arm64"}, {"intel", "amd64"}} {
			file := "evalctl_" + version + "_" + s[1] + "_" + c[1] + ".tar.gz"
			if sum, ok := sums[file]; ok {
				system.Archives = append(system.Archives, archiveOf{c[0], url + "/" + file, sum})
			}
		}
		if len(system.Archives) > 0 {
			systems = append(systems, system)
		}
	}
	if len(systems) == 0 {
		return fmt.Errorf("a formula needs an archive for macOS or Linux")
	}
	var out bytes.Buffer
	if err := formula.Execute(&out, map[string]any{"URL": url, "Version": version, "Systems": systems}); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, "evalctl.rb"), out.Bytes(), 0o644)
}
