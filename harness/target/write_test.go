package target

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"evalctl/daemon/protocol"
	"evalctl/harness/dataset"
)

// TestBatchLimits checks that batches keep the limits of the specification and the order of the
// documents, and contain all of them.
func TestBatchLimits(t *testing.T) {
	big := make([]byte, protocol.MaxBatchBytes)
	sizes := rapid.SliceOfN(rapid.OneOf(
		rapid.IntRange(0, 100), rapid.IntRange(0, 3<<20), rapid.Just(protocol.MaxBatchBytes),
	), 0, 600)
	rapid.Check(t, func(rt *rapid.T) {
		var docs, batched []dataset.Doc
		for i, n := range sizes.Draw(rt, "sizes") {
			docs = append(docs, dataset.Doc{Path: fmt.Sprint(i), Data: big[:n]})
		}
		for _, batch := range batches(docs) {
			size := 0
			for _, d := range batch {
				size += len(d.Data)
			}
			if len(batch) == 0 || len(batch) > protocol.MaxBatchOps ||
				len(batch) > 1 && size > protocol.MaxBatchBytes {
				rt.Fatalf("a batch of %d documents and %d bytes", len(batch), size)
			}
			batched = append(batched, batch...)
		}
		same := func(a, b dataset.Doc) bool { return a.Path == b.Path }
		if !slices.EqualFunc(docs, batched, same) {
			rt.Fatal("documents are lost or moved")
		}
	})
}
