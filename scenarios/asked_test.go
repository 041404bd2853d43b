package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func askedScenario(name string) *Scenario {
	s := defaults()
	s.Name = name
	s.Locks = []LockUse{{Name: "no-lock", Use: "no-lock"}, {Name: "set-nx", Use: "set-nx"}}
	s.Expect = map[string]Expectation{"no-lock": {Judgement: Judgement{Verdict: Violated}}, "set-nx": {Judgement: Judgement{Violated, "overstay"}}}
	return s
}

// More specific expectations win, and the last of equals.
func TestAskedApply(t *testing.T) {
	uses := []LockUse{{Name: "no-lock", Use: "no-lock"}, {Name: "mine", Command: "./mine"}, {Name: "set-nx/ttl=2s", Use: "set-nx"}}
	for name, test := range map[string]struct {
		asked Asked
		want  map[string]string // in pause-client
	}{
		"nothing": {Asked{}, map[string]string{"no-lock": "violated", "mine": "valid", "set-nx/ttl=2s": "violated overstay"}},
		"all but controls": {Asked{Expect: []string{"unknown"}},
			map[string]string{"no-lock": "violated", "mine": "unknown", "set-nx/ttl=2s": "unknown"}},
		"a control by its name":      {Asked{Expect: []string{"no-lock=unjudged"}}, map[string]string{"no-lock": "unjudged"}},
		"like":                       {Asked{Like: []string{"mine=set-nx"}}, map[string]string{"mine": "violated overstay"}},
		"like before all":            {Asked{Like: []string{"mine=set-nx"}, Expect: []string{"valid"}}, map[string]string{"mine": "violated overstay"}},
		"a lock before like":         {Asked{Like: []string{"mine=set-nx"}, Expect: []string{"mine=unknown"}}, map[string]string{"mine": "unknown"}},
		"like, with equals signs":    {Asked{Like: []string{"set-nx/ttl=2s=redlock/nodes=3"}}, map[string]string{"set-nx/ttl=2s": "unjudged"}},
		"like one that is not there": {Asked{Like: []string{"mine=redlock"}}, map[string]string{"mine": "unjudged"}},
		"the scenario before the lock": {Asked{Expect: []string{"pause-client/mine=violated", "mine=unknown"}},
			map[string]string{"mine": "violated"}},
		"another scenario":    {Asked{Expect: []string{"steady/mine=violated"}}, map[string]string{"mine": "valid"}},
		"the later of two":    {Asked{Expect: []string{"mine=violated", "mine=unjudged"}}, map[string]string{"mine": "unjudged"}},
		"a name with a slash": {Asked{Expect: []string{"set-nx/ttl=2s=valid"}}, map[string]string{"set-nx/ttl=2s": "valid"}},
		"both slashes":        {Asked{Expect: []string{"pause-client/set-nx/ttl=2s=valid"}}, map[string]string{"set-nx/ttl=2s": "valid"}},
		"more than a verdict": {Asked{Expect: []string{"mine={verdict: violated overstay, results: unjudged}"}}, map[string]string{"mine": "violated overstay, results unjudged"}},
		"more of all":         {Asked{Expect: []string{"{verdict: valid, limits: {outage: 5s}}"}}, map[string]string{"mine": "valid, outage at most 5s"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := askedScenario("pause-client")
			got, err := test.asked.Apply(s, uses)
			if err != nil {
				t.Fatal(err)
			}
			for lock, want := range test.want {
				if e := got.Expectation(lock).String(); e != want {
					t.Errorf("of %s it expects %q, want %q", lock, e, want)
				}
			}
			if s.Expectation("mine").String() != "valid" {
				t.Error("the scenario itself was changed")
			}
		})
	}
}

func TestAskedCheck(t *testing.T) {
	run := []*Scenario{askedScenario("pause-client")}
	uses := []LockUse{{Name: "no-lock", Use: "no-lock"}, {Name: "mine", Command: "./mine"}}
	for name, test := range map[string]struct {
		asked Asked
		want  string // the first line of the error
	}{
		"right":                {Asked{Expect: []string{"pause-client/mine=unjudged", "mine=valid"}, Like: []string{"mine=redlock/nodes=3"}}, ""},
		"lock":                 {Asked{Expect: []string{"mien=valid"}}, `--expect: no lock named "mien" runs; did you mean "mine"?`},
		"lock of a scenario":   {Asked{Expect: []string{"pause-client/mien=valid"}}, `--expect: no lock named "mien" runs; did you mean "mine"?`},
		"scenario":             {Asked{Expect: []string{"pause-cleint/mine=valid"}}, `--expect: no scenario is named "pause-cleint"; did you mean "pause-client"?`},
		"not run":              {Asked{Expect: []string{"steady/mine=valid"}}, `--expect: scenario steady does not run`},
		"verdict":              {Asked{Expect: []string{"mine=vaild"}}, `--expect: no verdict is named "vaild"; did you mean "valid"?`},
		"checker":              {Asked{Expect: []string{"mine={result: unjudged}"}}, `--expect: no checker is named "result"; did you mean "results"?`},
		"like alone":           {Asked{Like: []string{"mine"}}, `--like: "mine" names one lock; as in mine=set-nx`},
		"like an unknown lock": {Asked{Like: []string{"mine=set-nk"}}, `--like: no lock is named "set-nk"; did you mean "set-nx"?`},
		"like without a lock":  {Asked{Like: []string{"=set-nx"}}, `--like: "=set-nx" names one lock; as in mine=set-nx`},
		"whose like":           {Asked{Like: []string{"mien=set-nx"}}, `--like: no lock named "mien" runs; did you mean "mine"?`},
	} {
		t.Run(name, func(t *testing.T) {
			err := test.asked.Check(run, uses)
			got := ""
			if err != nil {
				got = strings.SplitN(err.Error(), "\n", 2)[0]
			}
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if err != nil && !IsUsage(err) {
				t.Errorf("%T is not wrong usage", err)
			}
		})
	}
}

// The flags for one run of a campaign leave out expectations about others.
func TestAskedFlags(t *testing.T) {
	a := Asked{Like: []string{"mine=set-nx", "other=redlock"}, Expect: []string{"valid", "steady/mine=unjudged", "pause-client/mine=violated", "other=unjudged"}}
	got := a.Flags(askedScenario("pause-client"), []LockUse{{Name: "mine"}})
	want := []string{"--expect", "valid", "--like", "mine=set-nx", "--expect", "pause-client/mine=violated"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestExampleOfExpectations checks the meaning of the file that users copy.
func TestExampleOfExpectations(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "examples", "ci", "lockbench.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var a struct{ Like, Expect []string }
	if err := yaml.Unmarshal(text, &a); err != nil {
		t.Fatal(err)
	}
	mine := []LockUse{{Name: "mine", Command: "./myguest"}}
	for name, want := range map[string]string{"steady": "valid, p99 at most 250ms", "pause-client": "violated overstay", "kill-holder": "valid"} {
		s, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if s, err = (Asked{Like: a.Like, Expect: a.Expect}).Apply(s, mine); err != nil {
			t.Fatal(err)
		}
		if got := s.Expectation("mine").String(); got != want {
			t.Errorf("in %s it expects %q, want %q", name, got, want)
		}
	}
}
