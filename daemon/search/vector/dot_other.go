//go:build !amd64

package vector

// dotCodes returns the dot product of codes. Both slices have the same length, a multiple of
// codeGroup above 0.
func dotCodes(row []uint8, query []int16) int32 {
	query = query[:len(row)]
	var sum [4]int32 // so that additions need not wait for each other
	for i := 0; i+3 < len(row); i += 4 {
		sum[0] += int32(row[i]) * int32(query[i])
		sum[1] += int32(row[i+1]) * int32(query[i+1])
		sum[2] += int32(row[i+2]) * int32(query[i+2])
		sum[3] += int32(row[i+3]) * int32(query[i+3])
	}
	return sum[0] + sum[1] + sum[2] + sum[3]
}
