package compare

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evalctl/harness/result"
)

// largeFiles writes three results of n questions each, with scores, retrieval and latencies that
// differ between questions, and five chunks of text for each. It returns their size together.
func largeFiles(b *testing.B, n int) (paths []string, size int64) {
	random := rand.New(rand.NewPCG(1, 1))
	text := strings.Repeat("Nothing that a comparison needs. ", 8)
	dir := b.TempDir()
	for _, sdk := range []string{"go", "py", "ts"} {
		f := newFile(sdk, strings.Repeat("p", n))
		for i := range f.Questions {
			r := &f.Questions[i]
			r.ID = fmt.Sprintf("q%05d", i)
			r.Question = "What is " + r.ID + "?"
			r.Reference = "it is " + r.ID
			score := float64(random.IntN(101)) / 100
			r.Score, r.Passed = &score, score >= 0.5
			r.Tags = []string{fmt.Sprintf("conv:%d", i%50), fmt.Sprintf("kind:%d", i%6)}
			r.ExpectedPaths = []string{"a.md"}
			r.Retrieval = &result.QuestionRetrieval{
				Documents: 5, Recall: float64(random.IntN(2)), NDCG: random.Float64(),
				ReciprocalRank: 1 / float64(1+random.IntN(5)), AveragePrecision: random.Float64(),
			}
			r.LatencyMS = 100 + 900*random.Float64()
			r.FirstDeltaMS = new(50 + 50*random.Float64())
			for range 5 {
				r.Retrieved = append(r.Retrieved, result.Chunk{Path: "a.md", Score: random.Float64(), Text: text})
			}
		}
		path := f.write(b, filepath.Join(dir, sdk+".json"))
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		paths, size = append(paths, path), size+info.Size()
	}
	return paths, size
}

// BenchmarkCompare reads and compares three results of 10,000 questions each, with all measures and
// 10,000 resamples.
func BenchmarkCompare(b *testing.B) {
	paths, size := largeFiles(b, 10_000)
	for name, tag := range map[string]string{"questions": "", "clusters": "conv"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(size)
			for b.Loop() {
				runs, err := OpenAll(paths)
				if err != nil {
					b.Fatal(err)
				}
				c, err := Compare(runs, Options{ClusterTag: tag})
				if err != nil || len(c.Pairs) != 3 || len(c.Pairs[0].Measures) != 5 || c.Resamples != 10_000 {
					b.Fatal(c, err)
				}
			}
		})
	}
}
