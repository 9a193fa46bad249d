package llm

import (
	"container/list"
	"slices"
	"sync"
)

// memoryCacheBytes limits the vectors of an EmbedCache without a file: about 10,000 vectors of
// 1,536 dimensions.
const memoryCacheBytes = 64 << 20

// memoryVectors evicts the least recently used vectors.
type memoryVectors struct {
	limit int

	mu    sync.Mutex
	bytes int
	order *list.List // of *memoryVector, most recently used first
	byKey map[CacheKey]*list.Element
}

type memoryVector struct {
	key    CacheKey
	vector []float32
}

func (v *memoryVector) bytes() int {
	const rest = 200 // overhead of the list, the map and this struct
	return 4*len(v.vector) + rest
}

func newMemoryVectors(limit int) *memoryVectors {
	return &memoryVectors{limit: limit, order: list.New(), byKey: map[CacheKey]*list.Element{}}
}

func (m *memoryVectors) get(keys []CacheKey) ([][]float32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([][]float32, len(keys))
	for i, key := range keys {
		if e := m.byKey[key]; e != nil {
			m.order.MoveToFront(e)
			out[i] = slices.Clone(e.Value.(*memoryVector).vector)
		}
	}
	return out, nil
}

func (m *memoryVectors) put(keys []CacheKey, vectors [][]float32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, key := range keys {
		if e := m.byKey[key]; e != nil {
			m.remove(e) // two callers missed it at the same time
		}
		v := &memoryVector{key, slices.Clone(vectors[i])}
		m.byKey[key] = m.order.PushFront(v)
		m.bytes += v.bytes()
	}
	for m.bytes > m.limit {
		m.remove(m.order.Back())
	}
	return nil
}

func (m *memoryVectors) remove(e *list.Element) {
	v := m.order.Remove(e).(*memoryVector)
	delete(m.byKey, v.key)
	m.bytes -= v.bytes()
}
