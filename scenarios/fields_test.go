package scenarios

import (
	"testing"

	"lockbench/nemesis"
)

// decode knows the type of every field with a tag. Otherwise it panics.
func TestEveryTagIsRead(t *testing.T) {
	seen := 0
	for _, v := range []any{&Scenario{}, &Workload{}, &LockUse{}, &nemesis.Step{}, &Expectation{}} {
		keys := keysOf(v)
		for _, key := range keys {
			r := newReader("x.yaml")
			r.try(func() {
				r.fields(pairs{{key: word{text: key}, path: key}}, v, func(e pair) { t.Errorf("%T: %q is not a key", v, e.key.text) })
			})
			if len(r.errs) == 0 {
				t.Errorf("%T: no error about the missing value of %q", v, key)
			}
		}
		seen += len(keys)
	}
	if seen < 25 {
		t.Errorf("only %d keys were read: the test has gone blind", seen)
	}
}
