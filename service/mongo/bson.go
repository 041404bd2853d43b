package mongo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// document is what a question is made of, in its order: a server takes the first name for the
// command.
type document []field

type field struct {
	name  string
	value any // string, int32, float64, bool, []byte, document, list
}

// list is a document whose names are numbers, in their order.
type list document

// bson is a document as it is sent.
func (d document) bson() []byte {
	b := make([]byte, 4)
	for _, f := range d {
		var kind byte
		var value []byte
		switch v := f.value.(type) {
		case string:
			kind, value = typeString, append(binary.LittleEndian.AppendUint32(nil, uint32(len(v)+1)), v+"\x00"...)
		case int32:
			kind, value = typeInt32, binary.LittleEndian.AppendUint32(nil, uint32(v))
		case float64:
			kind, value = typeDouble, binary.LittleEndian.AppendUint64(nil, math.Float64bits(v))
		case bool:
			kind, value = typeBool, []byte{0}
			if v {
				value[0] = 1
			}
		case []byte:
			kind, value = typeBinary, append(binary.LittleEndian.AppendUint32(nil, uint32(len(v))), 0)
			value = append(value, v...)
		case document:
			kind, value = typeObject, v.bson()
		case list:
			kind, value = typeArray, document(v).bson()
		}
		b = append(append(append(b, kind), f.name+"\x00"...), value...)
	}
	b = append(b, 0)
	binary.LittleEndian.PutUint32(b, uint32(len(b)))
	return b
}

// Types of values.
const (
	typeDouble = 1
	typeString = 2
	typeObject = 3
	typeArray  = 4
	typeBinary = 5
	typeID     = 7
	typeBool   = 8
	typeTime   = 9
	typeNull   = 10
	typeInt32  = 16
	typeStamp  = 17
	typeInt64  = 18
)

var errDocument = errors.New("it is no document of BSON")

// read is what a document says in numbers, words, bytes, yes or no, and lists of words. All else
// is passed over.
func read(b []byte) (map[string]any, error) {
	said := map[string]any{}
	err := each(b, func(kind byte, name string, value []byte) error {
		switch kind {
		case typeDouble:
			said[name] = math.Float64frombits(binary.LittleEndian.Uint64(value))
		case typeString:
			said[name] = string(value[4 : len(value)-1])
		case typeArray:
			var words []string
			err := each(value, func(kind byte, _ string, value []byte) error {
				if kind == typeString {
					words = append(words, string(value[4:len(value)-1]))
				}
				return nil
			})
			said[name] = words
			return err
		case typeBinary:
			said[name] = value[5:]
		case typeBool:
			said[name] = value[0] != 0
		case typeInt32:
			said[name] = int32(binary.LittleEndian.Uint32(value))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return said, nil
}

// each tells the values of a document, in their order.
func each(b []byte, tell func(kind byte, name string, value []byte) error) error {
	if len(b) < 5 || int(binary.LittleEndian.Uint32(b)) != len(b) || b[len(b)-1] != 0 {
		return errDocument
	}
	for b = b[4 : len(b)-1]; len(b) > 0; {
		name, rest, ok := cut(b[1:])
		n, err := size(b[0], rest)
		if err != nil || !ok {
			return errors.Join(errDocument, err)
		}
		if err := tell(b[0], name, rest[:n]); err != nil {
			return err
		}
		b = rest[n:]
	}
	return nil
}

// cut is the text before the first zero, and what comes behind it.
func cut(b []byte) (text string, rest []byte, ok bool) {
	for i, c := range b {
		if c == 0 {
			return string(b[:i]), b[i+1:], true
		}
	}
	return "", nil, false
}

// size is how many bytes a value takes.
func size(kind byte, b []byte) (int, error) {
	n, counted, least := 0, 0, 0
	switch kind {
	case typeDouble, typeTime, typeStamp, typeInt64:
		n = 8
	case typeString:
		n, counted, least = 4, 4, 1
	case typeObject, typeArray:
		n, counted, least = 0, 4, 5
	case typeBinary:
		n, counted = 5, 4
	case typeID:
		n = 12
	case typeBool:
		n = 1
	case typeNull:
	case typeInt32:
		n = 4
	default:
		return 0, fmt.Errorf("a value has the type %d", kind)
	}
	if counted > len(b) {
		return 0, errDocument
	}
	if counted > 0 {
		says := int(binary.LittleEndian.Uint32(b))
		if says < least || says > len(b) {
			return 0, errDocument
		}
		n += says
	}
	if n > len(b) {
		return 0, errDocument
	}
	return n, nil
}
