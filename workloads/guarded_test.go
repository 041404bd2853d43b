package workloads

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The plain form accepts every access. The fenced form refuses tokens older than the highest that it has seen, also for
// reads: the holder of 6 must not overwrite a value that was read with token 7.
func TestGuarded(t *testing.T) {
	type touch struct {
		key, form string
		token     uint64
		write     *int64
		want      int64
		refused   bool
	}
	one, two, five := ptr(int64(1)), ptr(int64(2)), ptr(int64(5))
	tests := map[string][]touch{
		"a new counter is 0":           {{"a", formPlain, 0, nil, 0, false}},
		"plain takes any token":        {{"a", formPlain, 9, one, 1, false}, {"a", formPlain, 2, five, 5, false}, {"a", formPlain, 0, nil, 5, false}},
		"fenced refuses older writes":  {{"a", formFenced, 7, one, 1, false}, {"a", formFenced, 6, two, 1, true}, {"a", formFenced, 7, nil, 1, false}},
		"fenced refuses older reads":   {{"a", formFenced, 7, one, 1, false}, {"a", formFenced, 6, nil, 1, true}},
		"a read shuts out older ones":  {{"a", formFenced, 7, nil, 0, false}, {"a", formFenced, 6, two, 0, true}},
		"the refused are not believed": {{"a", formFenced, 7, nil, 0, false}, {"a", formFenced, 6, nil, 0, true}, {"a", formFenced, 6, two, 0, true}, {"a", formFenced, 7, two, 2, false}},
		"the same token, and newer":    {{"a", formFenced, 7, nil, 0, false}, {"a", formFenced, 7, one, 1, false}, {"a", formFenced, 9, two, 2, false}},
		"keys and forms are apart":     {{"a", formFenced, 7, one, 1, false}, {"b", formFenced, 1, two, 2, false}, {"a", formPlain, 1, nil, 0, false}},
	}
	for name, touches := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewGuarded()
			for i, at := range touches {
				recorded := 0
				value, err := g.Touch(at.key, at.form, at.token, at.write, func(value int64, err error) {
					recorded++
					if value != at.want || (err != nil) != at.refused {
						t.Errorf("touch %d recorded %d, %v", i+1, value, err)
					}
				})
				if value != at.want || errors.Is(err, errStaleToken) != at.refused || recorded != 1 {
					t.Errorf("touch %d: %d, %v, recorded %d times; want %d, refused %v", i+1, value, err, recorded, at.want, at.refused)
				}
			}
		})
	}
}

func TestGuardedFinal(t *testing.T) {
	g := NewGuarded()
	for i, key := range []string{"a", "b"} {
		for _, form := range []string{formPlain, formFenced} {
			_, _ = g.Touch(key, form, 1, ptr(int64(i+len(form))), func(int64, error) {})
		}
	}
	got := map[string]int64{}
	g.Final(func(key, form string, value int64) { got[key+" "+form] = value })
	if diff := cmp.Diff(map[string]int64{"a plain": 5, "a fenced": 6, "b plain": 6, "b fenced": 7}, got); diff != "" {
		t.Error(diff)
	}
}
