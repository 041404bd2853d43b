package guest

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"lockbench/locks"
)

// StrangeField is a field that the protocol does not have, probably a spelling mistake. lockbench ignores it.
type StrangeField struct {
	Name  string
	Of    string   // the field of the hello that contains it; empty: the hello itself
	Known []string // the known fields in that place
}

// strangeFields returns the unknown fields of a hello and its claims, by name.
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
		return nil // not an object, or missing
	}
	var known []string
	for i := range as.NumField() {
		if name, _, _ := strings.Cut(as.Field(i).Tag.Get("json"), ","); name != "-" {
			known = append(known, name)
		}
	}
	var strange []StrangeField
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		// encoding/json ignores case.
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			strange = append(strange, StrangeField{Name: name, Of: of, Known: known})
		}
	}
	return strange
}
