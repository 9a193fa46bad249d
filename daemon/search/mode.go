package search

// Mode is a way to rank (spec 4.4).
type Mode string

// The modes.
const (
	ModeAuto     Mode = "auto"     // hybrid with an embedder, bm25 without
	ModeBM25     Mode = "bm25"     // by the words of the query
	ModeSemantic Mode = "semantic" // by the cosine of the embedder's vectors
	// ModeHybrid fuses the ranks of the two, see FusionWeigher.
	ModeHybrid Mode = "hybrid"
	// ModeHybridRerank reorders the best hits of ModeHybrid by a reranker.
	ModeHybridRerank Mode = "hybrid-rerank"
)

// Fusion is a way to combine the ranking by words and the ranking by vectors.
type Fusion string

// The fusions.
const (
	FusionScore Fusion = "score" // by scores, see fuseScores; the default
	FusionRRF   Fusion = "rrf"   // reciprocal rank fusion, see fuseRanks
)

// Fusions are all fusions. It must not be modified.
var Fusions = []Fusion{FusionScore, FusionRRF}

// defaultFusionWeights are the weights of the ranking by vectors, where the ranking by words has
// weight 1. docs/dev/ranking.md has the measurements.
var defaultFusionWeights = map[Fusion]float64{FusionScore: 0.3, FusionRRF: 0.2}

// MaxFusionWeight is the largest Config.FusionWeight. It leaves little influence to the ranking by
// words.
const MaxFusionWeight = 100

// FusionRun describes how a hybrid was fused.
type FusionRun struct {
	Fusion Fusion
	Weight float64 // of the ranking by vectors
}

// method is how a mode ranks.
type method struct {
	mode Mode
	// words and vectors are the legs. The rankings of two legs are fused.
	words, vectors bool
	// reranks is whether a reranker reorders the best hits.
	reranks bool
	// lower is the mode that runs if a model of this one fails. If it needs the failed model too,
	// its own lower mode runs.
	lower Mode
}

// methods has every mode but ModeAuto, and the zero method for any other. The lower mode of a
// reranking mode has the same legs without reranking, because a failure of the reranker leaves the
// ranking of the legs as it is.
var methods = map[Mode]method{
	ModeBM25:         {mode: ModeBM25, words: true},
	ModeSemantic:     {mode: ModeSemantic, vectors: true, lower: ModeBM25},
	ModeHybrid:       {mode: ModeHybrid, words: true, vectors: true, lower: ModeBM25},
	ModeHybridRerank: {mode: ModeHybridRerank, words: true, vectors: true, reranks: true, lower: ModeHybrid},
}

// autoModes are the modes that ModeAuto may run: the first one whose models are configured. The
// last one needs no model.
var autoModes = []Mode{ModeHybrid, ModeBM25}

// withoutVectors returns the method that replaces m if the embedder fails.
func (m method) withoutVectors() method {
	for m.vectors {
		m = methods[m.lower]
	}
	return m
}
