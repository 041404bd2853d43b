package catalog

import (
	"time"

	"lockbench/locks"
	"lockbench/locks/mutants"
)

// patience is the option of locks whose clients can be told how long to wait for answers.
const patience = "answer-timeout"

var getDelOptions = []Option{
	{Name: patience, About: "how long its client waits for an answer", Default: "1s"},
}

func newGetDel(options map[string]string) (locks.Opener, error) {
	if err := checkNames("get-del", getDelOptions, options); err != nil {
		return nil, err
	}
	more := time.Duration(0)
	if v, ok := options[patience]; ok {
		d, err := time.ParseDuration(v)
		if err != nil || d <= 0 {
			return nil, badValue("get-del", patience, v, "a duration such as 5s")
		}
		if d > durationMax {
			return nil, tooLong("get-del", patience, v)
		}
		more = d - time.Second
	}
	return mutants.GetDel(more), nil
}
