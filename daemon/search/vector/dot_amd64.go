package vector

// dotCodes returns the dot product of codes. Both slices have the same length, a multiple of
// codeGroup above 0. It is written for SSE2, which every amd64 processor has.
//
//go:noescape
func dotCodes(row []uint8, query []int16) int32
