// Package secret masks secrets in texts that lockbench records or prints.
//
// A secret is a password, a token or a private key that a user gave to lockbench for external servers. The names of users,
// and the names and options of locks, are not secrets.
package secret

import (
	"encoding/base64"
	"slices"
	"strings"
)

// Hidden replaces a secret.
const Hidden = "***"

// lengthMin is the length in bytes of the shortest text that is masked. Shorter texts occur in ordinary words and numbers,
// and masking them would make all texts unreadable.
const lengthMin = 4

// Mask replaces secrets. A nil Mask has no secrets.
type Mask struct {
	secrets []string  // the longest first
	begins  [256]bool // the bytes with which a form of a secret may begin
}

// New returns a mask for secrets. It masks each line of a secret, and of a PEM text only the lines of private keys. It masks
// the secrets also in base64, as part of any longer text.
func New(secrets ...string) *Mask {
	m := &Mask{}
	for _, s := range secrets {
		if strings.Contains(s, "-----BEGIN ") {
			m.secrets = append(m.secrets, keyLines(s)...)
			continue
		}
		for line := range strings.Lines(s) {
			line = strings.TrimSpace(line)
			if len(line) >= lengthMin {
				m.secrets = append(append(m.secrets, line), inBase64(line)...)
			}
		}
	}
	slices.SortFunc(m.secrets, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	m.secrets = slices.Compact(m.secrets)
	for _, s := range m.secrets {
		m.begins[s[0]] = true
	}
	m.begins['\\'], m.begins['%'] = true, true
	return m
}

// keyLines returns the lines of base64 of the private keys in a PEM text. Headers, certificates and public keys are not
// secrets.
func keyLines(pem string) []string {
	var lines []string
	private := false
	for line := range strings.Lines(pem) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "-----"):
			private = strings.HasPrefix(line, "-----BEGIN ") && strings.HasSuffix(line, "PRIVATE KEY-----")
		case private && len(line) >= lengthMin && !strings.Contains(line, ":"):
			lines = append(lines, line)
		}
	}
	return lines
}

// inBase64 returns what base64 makes of a secret at each of the three positions that it can have in groups of three bytes.
// Letters that also depend on the bytes next to the secret are left out.
func inBase64(secret string) []string {
	var all []string
	for before, dependent := range []int{0, 2, 3} {
		text := base64.RawStdEncoding.EncodeToString(append(make([]byte, before), secret...))
		text = text[dependent:]
		if (before+len(secret))%3 != 0 {
			text = text[:len(text)-1]
		}
		if len(text) >= lengthMin {
			all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
		}
	}
	return all
}

// Text returns a text without secrets.
func (m *Mask) Text(text string) string {
	masked, _ := m.mask(text, true)
	return masked
}

// mask masks a text to its end, or to where a secret may begin of which more is to come.
func (m *Mask) mask(text string, whole bool) (masked, rest string) {
	if m == nil || len(m.secrets) == 0 {
		return text, ""
	}
	var b strings.Builder
	kept := 0 // the end of what b has
	i := 0
	for i < len(text) {
		length, cut := 0, false
		if m.begins[text[i]] {
			length, cut = m.at(text[i:])
		}
		switch {
		case cut && !whole:
			b.WriteString(text[kept:i])
			return b.String(), text[i:]
		case length > 0:
			b.WriteString(text[kept:i])
			b.WriteString(Hidden)
			i += length
			kept = i
		default:
			i++
		}
	}
	b.WriteString(text[kept:])
	return b.String(), ""
}

// at returns the length of the longest secret at the beginning of a text, or 0. cut reports that the text may end within a
// secret.
func (m *Mask) at(text string) (length int, cut bool) {
	for _, s := range m.secrets {
		n, cutOff := match(text, s)
		length, cut = max(length, n), cut || cutOff
	}
	return length, cut
}

// Error returns an error without secrets in its text. It wraps err.
func (m *Mask) Error(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	if masked := m.Text(text); masked != text {
		return maskedError{masked, err}
	}
	return err
}

type maskedError struct {
	text string
	err  error
}

func (e maskedError) Error() string { return e.text }
func (e maskedError) Unwrap() error { return e.err }

// Stream masks a text that comes in pieces.
type Stream struct {
	Mask *Mask
	held string // the beginning of a secret, perhaps
}

// Next returns the masked text up to where a secret may begin of which more is to come.
func (s *Stream) Next(piece string) string {
	masked, held := s.Mask.mask(s.held+piece, false)
	s.held = held
	return masked
}

// Held returns what Next has held back, as it is shown if nothing more comes. A long beginning of a secret is masked.
func (s *Stream) Held() string {
	if len(s.held) >= lengthMin {
		return Hidden
	}
	return s.held
}

// End returns what Next has held back, for the last time.
func (s *Stream) End() string {
	rest := s.Held()
	s.held = ""
	return rest
}
