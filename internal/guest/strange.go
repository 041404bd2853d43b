package guest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"lockbench/locks"
)

// StrangeField is a field that the protocol does not have, most likely a slip: what it was
// to say is not heard.
type StrangeField struct {
	Name  string
	Of    string   // the field of the hello that it stands in; empty: the hello itself
	Known []string // the fields that could stand there
}

// strangeFields are those of a hello and of its claims, by name.
func strangeFields(hello []byte) []StrangeField {
	strange := strangeIn(hello, "", reflect.TypeFor[Hello]())
	var claims struct {
		Claims json.RawMessage `json:"claims"`
	}
	if json.Unmarshal(hello, &claims) == nil {
		strange = append(strange, strangeIn(claims.Claims, "claims", reflect.TypeFor[locks.Claims]())...)
	}
	return strange
}

func strangeIn(object []byte, of string, as reflect.Type) []StrangeField {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return nil // it is no object, or not there
	}
	var known []string
	for i := range as.NumField() {
		if name, _, _ := strings.Cut(as.Field(i).Tag.Get("json"), ","); name != "-" {
			known = append(known, name)
		}
	}
	var strange []StrangeField
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		// The reader of JSON takes any case of letters for the same name.
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			strange = append(strange, StrangeField{Name: name, Of: of, Known: known})
		}
	}
	return strange
}
