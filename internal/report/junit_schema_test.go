package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The schema of JUnit files, as far as build servers hold to it: that of Jenkins
// (junit-10.xsd), element by element. A library that reads XSD would weigh more than
// these few rules.
type element struct {
	required, optional []string         // attributes
	children           map[string]times // by name
	order              []string         // of the children, if they have one
	text               bool
}

type times struct{ most int } // 0: any number

var junitSchema = map[string]element{
	"testsuites": {optional: []string{"name", "time", "tests", "failures", "disabled", "errors", "skipped"}, children: map[string]times{"testsuite": {}}},
	"testsuite": {required: []string{"name", "tests"}, optional: []string{"failures", "errors", "time", "disabled", "skipped", "timestamp", "hostname", "id", "package"},
		children: map[string]times{"properties": {1}, "testcase": {}, "system-out": {1}, "system-err": {1}}},
	"testcase": {required: []string{"name", "classname"}, optional: []string{"assertions", "time", "status"},
		children: map[string]times{"skipped": {1}, "error": {}, "failure": {}, "system-out": {}, "system-err": {}}, order: []string{"skipped", "error", "failure", "system-out", "system-err"}},
	"skipped":    {optional: []string{"message", "type"}, text: true},
	"error":      {optional: []string{"message", "type"}, text: true},
	"failure":    {optional: []string{"message", "type"}, text: true},
	"system-out": {text: true},
}

// conforms says where a text breaks the schema.
func conforms(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	type open struct {
		name  string
		seen  map[string]int
		place int
		sums  map[string]int
		attrs map[string]string
	}
	var stack []open
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			name := x.Name.Local
			rule, known := junitSchema[name]
			if !known {
				return fmt.Errorf("element %s is not known", name)
			}
			attrs := map[string]string{}
			for _, a := range x.Attr {
				if !slices.Contains(rule.required, a.Name.Local) && !slices.Contains(rule.optional, a.Name.Local) {
					return fmt.Errorf("%s has an attribute %s", name, a.Name.Local)
				}
				attrs[a.Name.Local] = a.Value
				switch a.Name.Local {
				case "tests", "failures", "errors", "skipped":
					if n, err := strconv.Atoi(a.Value); err != nil || n < 0 {
						return fmt.Errorf("%s of %s is %q", a.Name.Local, name, a.Value)
					}
				case "time":
					if _, err := strconv.ParseFloat(a.Value, 64); err != nil {
						return fmt.Errorf("time of %s is %q", name, a.Value)
					}
				case "timestamp":
					if _, err := time.Parse(time.RFC3339, a.Value); err != nil {
						return fmt.Errorf("timestamp of %s: %w", name, err)
					}
				}
			}
			for _, a := range rule.required {
				if attrs[a] == "" {
					return fmt.Errorf("%s lacks %s", name, a)
				}
			}
			if len(stack) == 0 {
				if name != "testsuites" && name != "testsuite" {
					return fmt.Errorf("the root is %s", name)
				}
			} else {
				parent := &stack[len(stack)-1]
				child, ok := junitSchema[parent.name].children[name]
				if !ok {
					return fmt.Errorf("%s in %s", name, parent.name)
				}
				if parent.seen[name]++; child.most > 0 && parent.seen[name] > child.most {
					return fmt.Errorf("%s more than once in %s", name, parent.name)
				}
				if order := junitSchema[parent.name].order; order != nil {
					place := slices.Index(order, name)
					if place < parent.place {
						return fmt.Errorf("%s out of order in %s", name, parent.name)
					}
					parent.place = place
				}
				for i := range stack { // what a suite counts
					if s := &stack[i]; s.name == "testsuite" || s.name == "testsuites" {
						s.sums[map[string]string{"testcase": "tests", "failure": "failures", "error": "errors", "skipped": "skipped"}[name]]++
					}
				}
			}
			stack = append(stack, open{name: name, seen: map[string]int{}, sums: map[string]int{}, attrs: attrs})
		case xml.CharData:
			if len(stack) > 0 && strings.TrimSpace(string(x)) != "" && !junitSchema[stack[len(stack)-1].name].text {
				return fmt.Errorf("text in %s", stack[len(stack)-1].name)
			}
		case xml.EndElement:
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			for _, what := range []string{"tests", "failures", "errors", "skipped"} {
				if told, ok := top.attrs[what]; ok && told != strconv.Itoa(top.sums[what]) {
					return fmt.Errorf("%s says %s=%s and has %d", top.name, what, told, top.sums[what])
				}
			}
		}
	}
}

func TestJUnitConformsToItsSchema(t *testing.T) {
	all := map[string]func(*testing.T) *Result{"sample": sample, "troubled": troubled,
		"huge": func(*testing.T) *Result { return huge(50, 2000) }}
	for name, of := range all {
		r := of(t)
		var one, many strings.Builder
		if err := errors.Join(JUnit(&one, r), JUnit(&many, r, r)); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{one.String(), many.String()} {
			if err := conforms(text); err != nil {
				t.Errorf("%s: %v in\n%.2000s", name, err, text)
			}
		}
	}
}

// The check can fail.
func TestJUnitSchemaBites(t *testing.T) {
	for _, bad := range []string{
		`<tests/>`, `<testsuites><testcase name="a" classname="b"/></testsuites>`, `<testsuite name="x"/>`,
		`<testsuite name="x" tests="2"><testcase name="a" classname="b"/></testsuite>`,
		`<testsuite name="x" tests="1"><testcase name="a"/></testsuite>`,
		`<testsuite name="x" tests="1" color="red"><testcase name="a" classname="b"/></testsuite>`,
		`<testsuite name="x" tests="1"><testcase name="a" classname="b"><system-out/><failure/></testcase></testsuite>`,
		`<testsuite name="x" tests="one"/>`, `<testsuite name="x" tests="0">text</testsuite>`, `<testsuite name="x" tests="0">`,
	} {
		if conforms(bad) == nil {
			t.Errorf("passed: %s", bad)
		}
	}
}
