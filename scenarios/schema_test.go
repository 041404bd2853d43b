package scenarios

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"lockbench/checker"
	"lockbench/internal/service"
	services "lockbench/internal/service/catalog"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
	"lockbench/workloads"
)

// object is a part of a JSON schema.
type object = map[string]any

// The texts of a scenario as regular expressions that editors support.
const (
	durationPattern = `([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)`
	durationsOnly   = `^(` + durationPattern + `)+$`
	leasesOnly      = `^[0-9]+(\.[0-9]*)?( *\.\. *[0-9]+(\.[0-9]*)?)? +leases$`
	rangesOnly      = `^(` + durationPattern + `)+( *\.\. *(` + durationPattern + `)+)?$`
	ratesOnly       = `^[0-9.]+%( *\.\. *[0-9.]+%)?$`
)

// TestSchemaFile checks that schema.json has the current keys and names.
func TestSchemaFile(t *testing.T) {
	const file = "schema.json"
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(schemaOf()); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	switch {
	case err == nil && bytes.Equal(got, want.Bytes()):
	case *update:
		if err := os.WriteFile(file, want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is out of date (%v); go test ./scenarios -run TestSchemaFile -update writes it", file, err)
	}
}

// schemaOf returns the JSON schema (draft 2020-12) of scenario files, with which editors complete keys and names, show their
// descriptions and mark errors. A schema cannot express every rule: only [Read] checks, for example, that clients release
// within their lease.
func schemaOf() object {
	s := schema{}
	root := s.object(scenarioKeys())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "a scenario of lockbench"
	root["$defs"] = object{
		"settings":    object{"type": "object", "additionalProperties": oneWord},
		"topology":    s.object(topologyKeys()),
		"servers":     s.servers(),
		"workload":    s.workload(),
		"lock":        s.lock(),
		"step":        s.step(),
		"random":      s.object(nemesis.RandomKeys),
		"expectation": s.expectation(),
		"verdict":     object{"enum": judgements()},
		"role":        object{"anyOf": []any{object{"enum": names(roles(), roleName)}, object{"type": "string", "pattern": "^" + s.role() + "$"}}},
		"link":        object{"type": "string", "pattern": "^" + s.role() + " *<?-> *" + s.role() + "$"},
	}
	return root
}

type schema struct{}

// oneWord is a word or a text. YAML reads 3 as a number and yes as a boolean, and a scenario reads both as text.
var oneWord = object{"type": []string{"string", "number", "boolean"}}

func refer(def string) object { return object{"$ref": "#/$defs/" + def} }

func pattern(p string) object { return object{"type": "string", "pattern": p} }

// object is a map with the keys and no others.
func (s schema) object(keys []nemesis.Key) object {
	properties := object{}
	var required []string
	for _, k := range keys {
		properties[k.Name] = s.property(k)
		if k.Needed {
			required = append(required, k.Name)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

// property is the value of a key with its description.
func (s schema) property(k nemesis.Key) object {
	p := s.value(k.Takes)
	if service, ok := find(services.All(), serviceName, k.Name); ok {
		p = s.settings(service)
	}
	p["description"] = k.About
	if k.Default != "" {
		p["description"] = k.About + "; default: " + k.Default
	}
	return p
}

// value is the schema of the values that a key takes.
func (s schema) value(takes string) object {
	switch takes {
	case takesVersion:
		return object{"const": Version}
	case nemesis.TakesNumber:
		return object{"type": "integer", "minimum": 1}
	case nemesis.TakesDuration:
		return object{"anyOf": []any{pattern(durationsOnly), object{"const": 0}}}
	case nemesis.TakesRange:
		return object{"anyOf": []any{pattern(rangesOnly), object{"const": 0}}}
	case nemesis.TakesLength:
		return object{"anyOf": []any{pattern(rangesOnly), pattern(leasesOnly), object{"const": 0}}}
	case nemesis.TakesRole:
		return refer("role")
	case takesRate:
		return pattern(ratesOnly)
	case takesMoment:
		return object{"enum": nemesis.Events}
	case takesBugs:
		return object{"type": "array", "items": pattern(bugID.String())}
	case takesPoint:
		return object{"enum": sorted(checker.Points(), func(p checker.Point) string { return p.Name })}
	case takesLocks:
		return object{"type": "array", "minItems": 1, "items": refer("lock")}
	case takesLock:
		return object{"enum": names(catalog.All(), lockName)}
	case takesTopologies:
		return refer("topology")
	case takesSingleStore:
		return object{"enum": singleStores(services.All()[0])}
	case takesMajority:
		count := nemesis.Key{Name: "independent", Takes: nemesis.TakesNumber, About: "how many masters", Needed: true}
		return object{"anyOf": []any{object{"const": "independent"}, s.object([]nemesis.Key{count})}}
	case takesSettings:
		return refer("settings")
	case takesServers:
		return refer("servers")
	case takesWorkload:
		return refer("workload")
	case takesSteps:
		return object{"anyOf": []any{
			object{"enum": []string{"none", nemesis.RandomFaults}},
			object{"type": "array", "minItems": 1, "items": refer("step")},
			s.only(nemesis.RandomFaults, refer("random")),
		}}
	case takesExpectation:
		return object{"type": "object", "additionalProperties": refer("expectation")}
	case takesVerdict:
		return refer("verdict")
	case takesLimits:
		figures := object{}
		for _, f := range Figures {
			figures[f] = s.value(nemesis.TakesDuration)
		}
		return object{"type": "object", "properties": figures, "additionalProperties": false}
	}
	if words := strings.Split(takes, "|"); len(words) > 1 {
		return s.oneOf(words)
	}
	return object{"type": oneWord["type"]}
}

// oneOf is one of some words. true and false may be written without quotes.
func (s schema) oneOf(words []string) object {
	var all []any
	for _, w := range words {
		if w == "true" || w == "false" {
			all = append(all, w == "true")
		}
		all = append(all, w)
	}
	return object{"enum": all}
}

// only is a map of one key.
func (s schema) only(key string, value object) object {
	return object{"type": "object", "properties": object{key: value}, "required": []string{key}, "additionalProperties": false}
}

// settings are the settings of one service that a scenario may set.
func (s schema) settings(of *service.Service) object {
	properties := object{}
	for _, free := range freeSettings(of) {
		properties[free.Name] = object{"type": oneWord["type"], "description": free.About}
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func (s schema) servers() object {
	properties := object{}
	for _, of := range services.All() {
		one := s.object(keysIn(defaultServers()))
		one["properties"].(object)["settings"] = s.settings(of)
		one["properties"].(object)["topology"] = object{"anyOf": []any{object{"enum": names(of.Topologies, topologyName)}, refer("topology")}}
		properties[of.Name] = one
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func (s schema) workload() object {
	all := names(workloads.All(), workName)
	settings, named := s.object(keysIn(defaults().Workload)), object{}
	for _, w := range workloads.All() {
		named[w.Name] = object{"$ref": "#/$defs/workload/$defs/settings", "description": w.About}
	}
	return object{
		"$defs": object{"settings": settings},
		"anyOf": []any{
			object{"enum": all},
			object{"type": "object", "properties": named, "additionalProperties": false, "minProperties": 1, "maxProperties": 1},
		},
	}
}

// lock is a name, a name with options or a command in one word, or a map.
func (s schema) lock() object {
	list := lockKeys()
	own := s.object(list)
	properties := own["properties"].(object)
	var rules []any
	for _, l := range catalog.All() {
		allowed := nemesis.KeyNames(list)
		for _, o := range l.Options() {
			allowed = append(allowed, o.Name)
			if _, common := nemesis.KeyOf(list, o.Name); !common {
				properties[o.Name] = object{"type": oneWord["type"], "description": o.About}
			}
		}
		rules = append(rules, object{
			"if":   object{"required": []string{"use"}, "properties": object{"use": object{"const": l.Name}}},
			"then": object{"propertyNames": object{"enum": allowed}},
		})
	}
	// Only the command knows its options.
	own["additionalProperties"] = oneWord
	own["oneOf"] = []any{object{"required": []string{"use"}}, object{"required": []string{"cmd", "as"}}}
	own["allOf"] = rules
	return object{"anyOf": []any{object{"enum": names(catalog.All(), lockName)}, pattern(`^[^/=]+[/=].*$`), own}}
}

// step is one of the faults, each with its own keys.
func (s schema) step() object {
	every := keysIn(nemesis.Step{})
	var faults []any
	for _, f := range nemesis.All() {
		o := s.object(slices.Concat(every, f.Keys))
		target := refer("role")
		if f.Link {
			target = refer("link")
		}
		target["description"] = f.About
		o["properties"].(object)[f.Name] = target
		required, _ := o["required"].([]string)
		o["required"] = append([]string{f.Name}, required...)
		o["not"] = object{"required": []string{"at", "when"}, "properties": object{"when": object{"const": nemesis.Idle}}}
		faults = append(faults, o)
	}
	return object{"oneOf": faults}
}

func (s schema) expectation() object {
	keys := keysIn(Expectation{})
	for _, c := range checker.Checks() {
		// A checker with the name of a key cannot be named here.
		if _, taken := nemesis.KeyOf(keys, c.Name); !taken {
			keys = append(keys, nemesis.Key{Name: c.Name, Takes: takesVerdict, About: c.About})
		}
	}
	return object{"anyOf": []any{refer("verdict"), s.object(keys)}}
}

// role is the text of one or several roles.
func (s schema) role() string {
	var words []string
	for _, r := range roles() {
		words = append(words, regexp.QuoteMeta(r.Name))
	}
	members := []string{"client"}
	for _, of := range services.All() {
		for _, t := range of.Topologies {
			for _, p := range t.Parts {
				if !slices.Contains(members, p.Name) {
					members = append(members, p.Name)
				}
			}
		}
	}
	one := "(the )?(" + strings.Join(words, "|") + "|(" + strings.Join(members, "|") + ")-[1-9][0-9]*)"
	return one + "( and " + one + ")*"
}
