package scenarios

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"lockbench/nemesis"
)

// The functions below read single values. Their errors say what is wrong with
// the text; where it stands, the caller adds.

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return 0, &Error{Text: fmt.Sprintf("%q is no whole number", text)}
	case n < 1:
		return 0, &Error{Text: fmt.Sprintf("%d is too few: at least 1", n)}
	}
	return n, nil
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		if _, e := strconv.ParseFloat(text, 64); e == nil {
			return 0, &Error{
				Text: fmt.Sprintf("%q is no duration: it has no unit", text),
				Hint: fmt.Sprintf("%ss are seconds, %sms milliseconds", text, text),
			}
		}
		return 0, &Error{Text: fmt.Sprintf("%q is no duration", text), Hint: "durations are written 250ms, 8s or 1m30s"}
	}
	if d < 0 {
		return 0, &Error{Text: fmt.Sprintf("%s is negative", text)}
	}
	return d, nil
}

// parseSpan reads a duration that must not be nothing.
func parseSpan(text string) (time.Duration, error) {
	d, err := parseDuration(text)
	if err == nil && d == 0 {
		return 0, &Error{Text: fmt.Sprintf("%s is no time at all", text)}
	}
	return d, err
}

func parseRange(text string) (nemesis.Range, error) {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		d, err := parseDuration(text)
		return nemesis.Range{From: d, To: d}, err
	}
	var r nemesis.Range
	var err error
	if r.From, err = parseDuration(strings.TrimSpace(from)); err != nil {
		return nemesis.Range{}, inRange(text, err)
	}
	if r.To, err = parseDuration(strings.TrimSpace(to)); err != nil {
		return nemesis.Range{}, inRange(text, err)
	}
	if r.From > r.To {
		return nemesis.Range{}, &Error{
			Text: fmt.Sprintf("%q is no range: it ends before it begins", text),
			Hint: fmt.Sprintf("did you mean \"%v..%v\"?", r.To, r.From),
		}
	}
	return r, nil
}

// parseSpanRange reads a range whose shortest is more than nothing.
func parseSpanRange(text string) (nemesis.Range, error) {
	r, err := parseRange(text)
	if err == nil && r.From == 0 {
		return nemesis.Range{}, &Error{Text: fmt.Sprintf("%s is no time at all", text)}
	}
	return r, err
}

func inRange(text string, err error) error {
	e := err.(*Error) // parseDuration has no other
	if text[:strings.Index(text, "..")] == "" || strings.HasSuffix(text, "..") {
		return &Error{Text: fmt.Sprintf("%q is no range", text), Hint: "ranges are written 5ms..50ms"}
	}
	return &Error{Text: fmt.Sprintf("in the range %q, %s", text, e.Text), Hint: e.Hint}
}

// parseRate reads `60%..100%` or `100%`.
func parseRate(text string) (Rate, error) {
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		high = low
	}
	var r Rate
	for _, end := range []struct {
		text string
		into *float64
	}{{low, &r.Low}, {high, &r.High}} {
		number, isPercent := strings.CutSuffix(strings.TrimSpace(end.text), "%")
		share, err := strconv.ParseFloat(number, 64)
		if err != nil || !isPercent || math.IsNaN(share) || share < 0 || share > 100 {
			return Rate{}, &Error{
				Text: fmt.Sprintf("%q is no rate", text),
				Hint: "rates are shares of the episodes, such as 60%..100%",
			}
		}
		*end.into = share / 100
	}
	if r.Low > r.High {
		return Rate{}, &Error{
			Text: fmt.Sprintf("%q is no rate: it ends before it begins", text),
			Hint: fmt.Sprintf("did you mean %q?", Rate{r.High, r.Low}),
		}
	}
	return r, nil
}

// ParseRange reads a duration or a range of them, as `5ms..50ms`, from a flag.
func ParseRange(flag, text string) (nemesis.Range, error) {
	r, err := parseRange(text)
	if err != nil {
		e := err.(*Error) // parseRange has no other
		e.File = flag
		return nemesis.Range{}, e
	}
	return r, nil
}

// read reads the word at a path with parse; what is wrong with it is noted there.
func read[T any](r *reader, path string, w word, into *T, parse func(string) (T, error)) bool {
	v, err := parse(w.text)
	if err != nil {
		r.bad[path] = true
		e, ok := err.(*Error)
		if !ok {
			e = &Error{Text: err.Error()}
		}
		r.add(w.at, e)
		return false
	}
	*into = v
	return true
}

// scalar is read for the node of an entry.
func scalar[T any](r *reader, path string, e entry, into *T, parse func(string) (T, error)) bool {
	w, ok := r.word(e.value, e.key.text)
	if !ok {
		r.bad[path] = true
		return false
	}
	return read(r, path, w, into, parse)
}
