package jsonobj

import "fmt"

// MaxDecoded limits the memory of a service's reply once it is decoded, in bytes.
const MaxDecoded = 64 << 20

// Bound returns an error unless Cost is at most most.
func Bound[T ~string | ~[]byte](data T, most int64) (cost int64, err error) {
	if cost = Cost(data); cost > most {
		return cost, fmt.Errorf("its JSON has so many values that it would take more than %d MiB", most>>20)
	}
	return cost, nil
}

// The memory of a decoded value, beyond the bytes of its text: about as much as encoding/json needs
// for any, and for a struct of a dozen fields.
const (
	valueCost     = 48
	containerCost = 256
)

// Cost estimates how many bytes a JSON text takes once it is decoded to values or structs, beyond
// its own. A text of small values takes many times its length. The number of values is an upper
// bound, whether or not data is valid.
func Cost[T ~string | ~[]byte](data T) int64 {
	cost, inString := int64(valueCost), false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == ',', c == ':':
			cost += valueCost
		case c == '{', c == '[':
			cost += containerCost
		}
	}
	return cost
}
