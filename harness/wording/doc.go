// Package wording puts results in words: the sentences, labels and formatted figures that several
// outputs have in common. Names in the texts are as a dataset or a daemon wrote them: outputs must
// escape them.
package wording
