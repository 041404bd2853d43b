package scenarios

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"lockbench/checker"
	"lockbench/nemesis"
)

// Every key has a description, and the table has all keys that the reader accepts.
func TestEveryKeyIsExplained(t *testing.T) {
	seen := 0
	for _, p := range parts() {
		for _, k := range p.Keys {
			seen++
			if k.Takes == "" || k.About == "" || strings.Contains(k.About, "|") {
				t.Errorf("%s: %+v is not explained", p.Title, k)
			}
		}
	}
	if seen < 50 {
		t.Errorf("got %d keys, want all", seen)
	}
}

// part is a map of a scenario file with all its keys.
type part struct {
	Title string
	Keys  []nemesis.Key
}

// parts are all maps of a scenario file, outer ones first. The page about scenarios is generated from them.
func parts() []part {
	all := []part{
		{"A scenario", scenarioKeys()},
		{"Under `topology`", topologyKeys()},
		{"Under `servers`, for each service", keysIn(defaultServers())},
		{"Under `workload`, for the workload that is named", keysIn(defaults().Workload)},
		{"A lock that is written as a map", lockKeys()},
		{"A step of `faults`", stepKeys()},
	}
	for _, f := range nemesis.All() {
		if len(f.Keys) > 0 {
			all = append(all, part{"Also in a step with `" + f.Name + "`", f.Keys})
		}
	}
	return append(all,
		part{"Under `faults: {random: ...}`", nemesis.RandomKeys},
		part{"Under `expect`, for each lock", expectationKeys()})
}

func stepKeys() []nemesis.Key {
	fault := nemesis.Key{Name: "FAULT", Takes: takesTarget, Needed: true, About: "a fault of lockbench list faults, and its target; see list roles and list links"}
	return append([]nemesis.Key{fault}, keysIn(nemesis.Step{})...)
}

func expectationKeys() []nemesis.Key {
	keys := keysIn(Expectation{})
	return append(keys, nemesis.Key{Name: "CHECKER", Takes: takesVerdict, About: "what one checker is to find: " + strings.Join(names(checker.Checks(), checkerName), ", ")})
}

// keysTable returns the keys of all parts as Markdown tables.
func keysTable() string {
	var b strings.Builder
	for _, p := range parts() {
		fmt.Fprintf(&b, "**%s**\n\n| key | takes | default | meaning |\n| --- | --- | --- | --- |\n", p.Title)
		for _, k := range p.Keys {
			usual := ""
			switch {
			case k.Needed:
				usual = "required"
			case k.Default != "":
				usual = "`" + k.Default + "`"
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Name, strings.ReplaceAll(k.Takes, "|", ", "), usual, k.About)
		}
		b.WriteByte('\n')
	}
	b.WriteString("**Points**: without its point an episode counts for nothing, unless it is violated; without an episode that counts, `valid` becomes `unknown`.\n\n" +
		"| point | what must happen in an episode | faults that can cause it |\n| --- | --- | --- |\n")
	for _, p := range checker.Points() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.About, strings.Join(p.Faults, ", "))
	}
	b.WriteByte('\n')
	return b.String()
}

// The page about scenarios has the current table of keys.
func TestPageShowsTheKeys(t *testing.T) {
	const page, begin, end = "../docs/add-a-scenario.md", "<!-- keys -->\n", "<!-- /keys -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begun := strings.Cut(string(text), begin)
	shown, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		t.Fatalf("%s lacks %s or %s", page, strings.TrimSpace(begin), end)
	}
	want := "\n" + keysTable()
	if shown == want {
		return
	}
	if !*update {
		t.Fatalf("%s shows other keys than scenarios have; go test ./scenarios -run TestPageShowsTheKeys -update writes them", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// validator checks YAML against the schema, as an editor does.
func validator(t *testing.T) func(text string) error {
	t.Helper()
	text, err := json.Marshal(schemaOf())
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("scenario.json", strings.NewReader(string(text))); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("scenario.json")
	if err != nil {
		t.Fatalf("the schema is none: %v", err)
	}
	return func(text string) error {
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return s.Validate(v)
	}
}

// The embedded scenarios and the examples of the page follow the schema.
func TestSchemaTakesScenarios(t *testing.T) {
	valid := validator(t)
	for _, name := range Names() {
		source, _ := Find(name)
		if err := valid(string(source)); err != nil {
			t.Errorf("%s: %#v", name, err)
		}
	}
	for _, more := range []string{
		"topology: {single-store: sentinel, majority: {independent: 3}}\nworkload:\n  counter: {clients: 6, ttl: 4s, hold: 5ms..50ms}\nfaults:\n  - {kill: master, when: acquired, hold: 2s..3s, for: 5s, data: lost, early: true}\n",
		"servers: {redis: {topology: sentinel, settings: {appendonly: yes, hz: 50}}}\nfaults: random\n",
		"faults: {random: {steps: 5, apart: 300ms..1500ms, for: 300ms..2s, weights: \"kill 2, pause 1\"}}\n",
		"faults: [{isolate: the master, with: half the clients}, {cut: master and sentinel-1 <-> clients, at: 1s..2s}, {clock: redis-2, drift: 10%}]\n",
		"faults: none\nexpect:\n  set-nx: {verdict: violated double-grant, rate: 60%..100%}\n  redlock: {exclusion: violated overstay, resource: valid, limits: {outage: 5s, p99: 50ms}}\n",
	} {
		source := "lockbench: scenario/1\nlocks: [no-lock, set-nx/ttl=4s, redlock, {use: redlock, as: redlock-3, nodes: 3, node-timeout: 50ms}, {cmd: python3 guest.py, as: py}]\n" + more
		if err := valid(source); err != nil {
			t.Errorf("%s%#v", source, err)
		}
		if _, err := Read("x.yaml", []byte(source)); err != nil {
			t.Errorf("the schema takes what is wrong: %v", err)
		}
	}
}

// The schema rejects words that the reader rejects.
func TestSchemaRefusesWrongWords(t *testing.T) {
	valid := validator(t)
	const head, locks, faults = "lockbench: scenario/1\n", "locks: [set-nx]\n", "faults: none\n"
	if err := valid(head + locks + faults); err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{
		locks + faults,
		"lockbench: scenario/2\n" + locks + faults,
		head + locks,
		head + faults,
		head + "locks: [set-xn]\n" + faults,
		head + "locks: [{use: set-nx, nodez: 3}]\n" + faults,
		head + "locks: [{cmd: x}]\n" + faults,
		head + locks + faults + "episode: 3\n",
		head + locks + faults + "episodes: 0\n",
		head + locks + faults + "quiet: 3\n",
		head + locks + faults + "workload: count\n",
		head + locks + faults + "workload: {counter: {client: 3}}\n",
		head + locks + faults + "topology: {single-store: ring}\n",
		head + locks + faults + "redis: {min-replicas-to-wirte: 1}\n",
		head + locks + faults + "redis: {requirepass: x}\n",
		head + locks + faults + "expect: {set-nx: vaild}\n",
		head + locks + faults + "expect: {set-nx: {limits: {p98: 1s}}}\n",
		head + locks + "faults: [{kil: master}]\n",
		head + locks + "faults: [{kill: mastre}]\n",
		head + locks + "faults: [{kill: master, by: 2s}]\n",
		head + locks + "faults: [{kill: master, pause: master}]\n",
		head + locks + "faults: [{kill: master, at: 2s, when: idle}]\n",
		head + locks + "faults: [{kill: master, when: aquired}]\n",
		head + locks + "faults: [{kill: master, when: acquired, mode: alone}]\n",
		head + locks + "faults: [{lag: master, by: 2s}]\n",
		head + locks + "faults: {random: {step: 3}}\n",
	} {
		if valid(source) == nil {
			t.Errorf("the schema takes\n%s", source)
		}
		if _, err := Read("x.yaml", []byte(source)); err == nil {
			t.Errorf("the reader takes\n%s", source)
		}
	}
}

// A scenario with a setting that lockbench decides, or an unknown setting, is rejected.
func TestSettingsAreKnown(t *testing.T) {
	for setting, want := range map[string]string{
		"requirepass: x":           "x.yaml:4:9: a scenario cannot set requirepass: lockbench queries servers without a password, and decides who may reach them; leave it out",
		"port: 1234":               "x.yaml:4:9: a scenario cannot set port: lockbench decides where servers listen",
		"min-replicas-to-wirte: 1": `x.yaml:4:9: redis has no setting "min-replicas-to-wirte"; did you mean "min-replicas-to-write"?`,
		"appendonly: maybe":        `x.yaml:4:21: appendonly cannot be "maybe"; its values are yes, no`,
		"hz: fast":                 `x.yaml:4:13: hz cannot be "fast"; write a whole number`,
		"loglevel: loud":           `loglevel cannot be "loud"; its values are debug, verbose, notice, warning, nothing`,
		"prot: 1":                  `redis has no setting "prot"; did you mean "proto-max-bulk-len"?`,
	} {
		_, err := Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\nredis: {"+setting+"}\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", setting, err, want)
		}
		long := strings.Replace("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\nservers: {redis: {settings: {S}}}\n", "S", setting, 1)
		if _, err := Read("x.yaml", []byte(long)); !IsUsage(err) {
			t.Errorf("%s in its long form: %v", setting, err)
		}
	}
}

// Numbers have an upper bound, which is reported at their position.
func TestNumbersThatAreTooLarge(t *testing.T) {
	for text, want := range map[string]string{
		"episodes: 1000000":                   "x.yaml:4:11: episodes: 1000000 is too large: at most 10000",
		"workload: {counter: {keys: 2e5}}":    `"2e5" is not a whole number`,
		"workload: {counter: {keys: 200000}}": "x.yaml:4:28: workload/keys: 200000 is too large: at most 10000",
	} {
		_, err := Read("x.yaml", []byte("lockbench: scenario/1\nlocks: [set-nx]\nfaults: none\n"+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// A scenario that exceeds a world's capacity is an error at its place, or about the flag.
func TestWithin(t *testing.T) {
	capacity := Capacity{World: "small", Clients: 10, WhyClients: "it is small", Servers: 4, WhyServers: "it is small"}
	for text, want := range map[string]string{
		"locks: [set-nx]\nworkload: {counter: {clients: 11}}": "x.yaml:4:31: 11 clients are too many: world small has room for 10, because it is small",
		"locks: [set-nx, set-nx/clients=12]":                  "x.yaml:3:17: 12 clients are too many",
		"locks: [redlock]":                                    "x.yaml:3:9: 5 servers are too many: world small has room for 4, because it is small",
		"locks: [redlock/nodes=6]":                            "x.yaml:3:9: 6 servers are too many",
		"locks: [redlock/nodes=3, set-nx/clients=10]":         "",
	} {
		s, err := Read("x.yaml", []byte("lockbench: scenario/1\nfaults: none\n"+text+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Within(capacity)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\ngot  %v\nwant %q", text, err, want)
		}
		if want != "" && !IsUsage(err) {
			t.Errorf("%T is not wrong usage", err)
		}
	}
	named, err := ParseLocks("--locks", "set-nx/clients=11")
	if err != nil {
		t.Fatal(err)
	}
	s := defaults()
	s.Locks = named
	if err := s.Within(capacity); err == nil || !strings.HasPrefix(err.Error(), "--locks: set-nx/clients=11: 11 clients are too many") {
		t.Errorf("got %v", err)
	}
}

// Names are sorted, independently of the names of their files.
func TestNamesAreSorted(t *testing.T) {
	names := Names()
	for i := range names[1:] {
		if names[i] >= names[i+1] {
			t.Errorf("%s stands before %s", names[i], names[i+1])
		}
	}
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) != len(names) {
		t.Errorf("%d names of %d files, %v", len(names), len(files), err)
	}
}

// A key that several faults have belongs to the fault of its step.
func TestKeysOfFaultsAreRead(t *testing.T) {
	for _, f := range nemesis.All() {
		for _, k := range f.Keys {
			if k.Needed && f.Try.Options[k.Name] == "" {
				t.Errorf("%s needs %s, and is tried without", f.Name, k.Name)
			}
		}
	}
}
