package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/locks"
	"lockbench/locks/catalog"
	"lockbench/nemesis"
)

// The functions below parse single values. The caller adds the place to their errors.

func parseText(text string) (string, error) { return strings.TrimSpace(text), nil }

// oneOf parses one of the known words.
func oneOf[T ~string](known []T, format string) func(string) (T, error) {
	return func(text string) (T, error) {
		if !slices.Contains(known, T(text)) {
			return "", wrong(catalog.DidYouMean(text, names(known, plain)), format, text)
		}
		return T(text), nil
	}
}

func parseMode(text string) (locks.Mode, error) {
	for _, m := range []locks.Mode{locks.Exclusive, locks.Shared} {
		if m.String() == text {
			return m, nil
		}
	}
	return 0, wrong("exclusive or shared", "no mode is named %q", text)
}

func parseCount(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, wrong("", "%q is not a whole number", text)
	}
	return n, inRange(n, 1, math.MaxInt)
}

func inRange[T int | time.Duration](n, least, most T) error {
	switch {
	case n < least:
		return wrong("", "%v is too small: at least %v", n, least)
	case n > most:
		return wrong("", "%v is too large: at most %v", n, most)
	}
	return nil
}

// ParseDuration parses a duration as it is written in a scenario: 250ms, 8s or 1m30s.
func ParseDuration(text string) (time.Duration, error) { return parseUpTo(text, nemesis.DurationMax) }

// parseRunTime parses a limit for whole runs.
func parseRunTime(text string) (time.Duration, error) { return parseUpTo(text, RunMax) }

func parseUpTo(text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	_, number := strconv.ParseFloat(text, 64)
	switch {
	case err != nil && number == nil:
		return 0, wrong(fmt.Sprintf("%ss are seconds, %sms milliseconds", text, text), "%q is not a duration: it has no unit", text)
	case err != nil:
		return 0, wrong("durations are written 250ms, 8s or 1m30s", "%q is not a duration", text)
	}
	return d, inRange(d, 0, most)
}

// ParseRange parses a range of durations as it is written in a scenario: 5ms..50ms, or a single duration.
func ParseRange(text string) (r nemesis.Range, err error) {
	from, to, ranged := strings.Cut(text, "..")
	switch {
	case !ranged:
		to = from
	case from == "" || strings.HasSuffix(text, ".."):
		return r, wrong("ranges are written 5ms..50ms", "%q is not a range", text)
	}
	if r.From, err = ParseDuration(strings.TrimSpace(from)); err != nil {
		return r, err
	}
	if r.To, err = ParseDuration(strings.TrimSpace(to)); err != nil {
		return r, err
	}
	if r.From > r.To {
		return r, wrong(fmt.Sprintf("did you mean \"%v..%v\"?", r.To, r.From), "%q is not a range: it ends before it begins", text)
	}
	return r, nil
}

// parseLength parses a range of durations or of leases: 1.5 leases, 2..2.5 leases.
func parseLength(text string) (l nemesis.Length, err error) {
	number, leases := strings.CutSuffix(text, nemesis.Leases)
	if leases { // kept as the length for a lease of one second
		text = strings.Join(strings.Split(strings.TrimSpace(number), ".."), "s..") + "s"
	}
	r, err := ParseRange(text)
	if err != nil && leases {
		err = wrong("leases are written 1.5 leases or 2..2.5 leases", "%q is not a number of leases", number+nemesis.Leases)
	}
	return nemesis.Length{From: r.From, To: r.To, Leases: leases}, err
}

// parseRate parses `60%..100%` or `100%`.
func parseRate(text string) (r Rate, err error) {
	low, high, ranged := strings.Cut(text, "..")
	if !ranged {
		high = low
	}
	var ok, too bool
	if r.Low, ok = share(low); ok {
		r.High, too = share(high)
	}
	switch {
	case !ok || !too:
		return r, wrong("rates are shares of the episodes, such as 60%..100%", "%q is not a rate", text)
	case r.Low > r.High:
		return r, wrong(fmt.Sprintf("did you mean %q?", Rate{r.High, r.Low}), "%q is not a rate: it ends before it begins", text)
	}
	return r, nil
}

// share parses `60%`.
func share(text string) (float64, bool) {
	number, isPercent := strings.CutSuffix(strings.TrimSpace(text), "%")
	n, err := strconv.ParseFloat(number, 64)
	return n / 100, err == nil && isPercent && !math.IsNaN(n) && n >= 0 && n <= 100
}

// parseJudgement parses `VERDICT [class]`.
func parseJudgement(text string) (j Judgement, err error) {
	text = strings.Join(strings.Fields(text), " ")
	if known := judgements(); !slices.Contains(known, text) {
		return j, wrong(catalog.DidYouMean(text, known), "no verdict is named %q", text)
	}
	j.Verdict, j.Class, _ = strings.Cut(text, " ")
	return j, nil
}
