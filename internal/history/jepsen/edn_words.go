package jepsen

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// What a value of EDN or JSON is made of in the end: words, texts, numbers.

// token reads up to what cannot belong to a word.
func (f *forms) token(begin []byte) (string, error) {
	f.buf = append(f.buf[:0], begin...)
	for {
		c, err := f.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		if strings.IndexByte(" \t\r\n\f\v,;\"()[]{}", c) >= 0 || f.json && c == ':' {
			f.unread()
			break
		}
		if f.buf = append(f.buf, c); len(f.buf) > textMax {
			return "", f.wrong("a word is longer than %d MiB", textMax>>20)
		}
	}
	if !utf8.Valid(f.buf) {
		return "", f.wrong("a word is no UTF-8")
	}
	return f.word(f.buf), nil
}

func (f *forms) char(v Value) (Value, error) {
	v.Kind = Char
	c, err := f.next()
	if err != nil {
		return v, cutShort(err)
	}
	v.Text, err = f.token([]byte{c})
	return v, err
}

// text reads a string whose opening quote has been taken.
func (f *forms) text() (string, error) {
	f.buf = append(f.buf[:0], '"')
	escaped, plain := false, true
	for {
		c, err := f.next()
		if err != nil {
			return "", cutShort(err)
		}
		switch {
		case escaped:
			escaped = false
			switch { // as JSON has them
			case strings.IndexByte(`"\/bfnrtu`, c) >= 0:
				f.buf = append(f.buf, '\\', c)
			case f.json:
				return "", f.wrong("a text has the escape \\%c, which JSON does not know", c)
			default:
				f.buf = append(f.buf, c)
			}
			continue
		case c == '\\':
			escaped, plain = true, false
			continue
		case c == '"':
			if plain {
				return f.word(f.buf[1:]), nil
			}
			f.buf = append(f.buf, '"')
			var s string
			if err := json.Unmarshal(f.buf, &s); err != nil {
				return "", f.wrong("a text cannot be read: %v", err)
			}
			return s, nil
		case c < ' ' && f.json:
			return "", f.wrong("a text has a control character")
		case c < ' ':
			plain = false
			f.buf = append(f.buf, `\u00`...)
			f.buf = append(f.buf, "0123456789abcdef"[c>>4], "0123456789abcdef"[c&15])
		default:
			plain = plain && c < utf8.RuneSelf
			f.buf = append(f.buf, c)
		}
		if len(f.buf) > textMax {
			return "", f.wrong("a text is longer than %d MiB", textMax>>20)
		}
	}
}

// atom reads a number, a keyword, a symbol, or nil, true and false.
func (f *forms) atom(v Value, c byte) (Value, error) {
	word, err := f.token([]byte{c})
	if err != nil {
		return v, err
	}
	switch word {
	case "nil", "null":
		return v, nil
	case "true", "false":
		v.Kind = Bool
		if word == "true" {
			v.Int = 1
		}
		return v, nil
	}
	digits := strings.TrimLeft(word, "+-")
	switch {
	case len(digits) > 0 && '0' <= digits[0] && digits[0] <= '9':
		return f.number(v, word)
	case f.json:
		return v, f.wrong("%q is no value", word)
	case c == ':':
		v.Kind, v.Text = Keyword, word[1:]
		if v.Text == "" {
			return v, f.wrong("a colon stands alone; expected a keyword")
		}
		return v, nil
	}
	v.Kind, v.Text = Symbol, word
	return v, nil
}

func (f *forms) number(v Value, word string) (Value, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(word, "N"), 10, 64)
	if err == nil {
		v.Kind, v.Int = Int, n
		return v, nil
	}
	x, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSuffix(word, "M"), "N"), 64)
	if over, under, ok := strings.Cut(word, "/"); ok && err != nil { // a ratio
		a, errA := strconv.ParseFloat(over, 64)
		b, errB := strconv.ParseFloat(under, 64)
		x, err = a/b, errors.Join(errA, errB)
	}
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		if f.json {
			return v, f.wrong("%q begins as a number and is none", word)
		}
		v.Kind, v.Text = Symbol, word // 0x1f in a printed object; who needs a number will say so
		return v, nil
	}
	v.Kind, v.Float = Float, x
	if x == math.Trunc(x) && math.Abs(x) < 1<<53 { // 1.0E9, as Clojure writes large ones
		v.Kind, v.Int = Int, int64(x)
	}
	return v, nil
}
