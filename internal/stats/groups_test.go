package stats

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"evalctl/internal/sharedtest"
)

// groupTests names the test, and its folder unless it is this one, that checks each group of the
// shared vectors.
var groupTests = map[string]string{
	"bootstrap_percentile_exact_binomial": "TestBootstrapPercentileVectors",
	"bootstrap_theory":                    "TestBootstrapSEVectors",
	"clustered_se":                        "TestClusteredVectors",
	"clustered_se_inspect_case":           "TestClusteredInspectCase",
	"cohen_kappa":                         "TestAgreementVectors",
	"floor_gate_operating_characteristic": "TestGatePassVectors",
	"judge_correction_lang_reiczigel":     "TestJudgeCorrectedVectors",
	"mcnemar":                             "TestMcNemarVectors",
	"mcnemar_sample_size":                 "TestMcNemarSizeVectors",
	"mde_paired":                          "TestMinDetectableVectors",
	"mean_ci":                             "TestMeanCIOfValues",
	"median_ci_order_stats":               "TestQuantileCIVectors",
	"multiplicity":                        "TestHolmVectors",
	"ndcg_graded_wikipedia":               "../../scorer checkVectors",
	"noninferiority":                      "TestNonInferiorityVectors",
	"p95_min_n_for_ci":                    "TestQuantileCIMinVectors",
	"paired_difference":                   "TestPairsVectors",
	"paired_mean":                         "TestPairedMeansVectors",
	"pass_at_k":                           "TestPassAtKVectors",
	"percentiles":                         "TestPercentileVectors",
	"proportion_ci_95":                    "TestProportionVectors",
	"rbp":                                 "../../scorer checkVectors",
	"retrieval_binary":                    "../../scorer checkVectors",
	"signflip_exact":                      "TestSignFlipVectors",
	"stratified_estimate":                 "TestStratifiedVectors",
	"stratified_largest_remainder_longmemeval": "../../replay/sample TestAllocateVectors",
	"t_ppf_975": "TestMeanCIVectors",
}

// unusedGroups are those of formulas that no command computes.
var unusedGroups = []string{
	"sprt", // Wald's sequential test: no run stops by it
	"coordinated_omission", "fleiss_wikipedia", "krippendorff", "krippendorff_canonical_2011", "lafs",
	"mann_whitney_exact", "miller_power", "newcombe_independent", "ppi_mean", "rule_of_three",
	"wilson_one_sided_lower_95",
}

// Each group of the shared vectors has a test, which reads it from them and exists.
func TestGroupsAreTested(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing in it is concurrent")
	}
	var groups map[string]json.RawMessage
	if err := json.Unmarshal(sharedtest.Read(t, "stats_vectors.json"), &groups); err != nil {
		t.Fatal(err)
	}
	var copied map[string]any
	if err := json.Unmarshal(testVectors(t), &copied); err != nil {
		t.Fatal(err)
	}
	for group, rows := range copied {
		var want any
		if err := json.Unmarshal(groups[group], &want); err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("testdata/vectors.json differs in group %s, %v", group, err)
		}
	}
	for group := range groups {
		if _, ok := groupTests[group]; !ok && !slices.Contains(unusedGroups, group) {
			t.Errorf("no test reads group %s", group)
		}
	}
	for _, group := range slices.Sorted(maps.Keys(groupTests)) {
		if _, ok := groups[group]; !ok {
			t.Errorf("the vectors have no group %s", group)
		}
		folder, name, ok := strings.Cut(groupTests[group], " ")
		if !ok {
			folder, name = ".", groupTests[group]
		}
		if !names(t, folder, name, group) {
			t.Errorf("%s in %s does not read group %s", name, folder, group)
		}
	}
}

func testVectors(t *testing.T) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "vectors.json"))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// names reports whether a function in the tests of a folder has a string literal with the name of
// the group, alone or as the key in a struct tag.
func names(t *testing.T, folder, function, group string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != function {
				continue
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && strings.Contains(lit.Value, `"`+group+`"`) {
					found = true
				}
				return true
			})
		}
	}
	return found
}
