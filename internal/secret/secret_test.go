package secret

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// odd has letters that formats escape.
const odd = `p"ä\&s /w+%🔑'<n>` + "\t" + `\u`

// asJSON returns the text of a JSON string.
func asJSON(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func TestTextInAnyForm(t *testing.T) {
	for _, secret := range []string{odd, "hunter2", "s3cr3t with blanks", "100%", "%25s%2f", `back\\slashes\`, "x/y=", "1234"} {
		m := New(secret)
		url1 := url.QueryEscape(secret)
		python := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\t", `\t`, "ä", `\xc3\xa4`, "🔑", `\xf0\x9f\x94\x91`).Replace(secret)
		for name, form := range map[string]string{
			"plain": secret, "JSON": asJSON(secret), "JSON in JSON": asJSON(asJSON(secret)), "thrice": asJSON(asJSON(asJSON(secret))),
			"Go": strconv.Quote(secret), "ASCII": strconv.QuoteToASCII(asJSON(secret)), "Python": "b'" + python + "'",
			"PHP": strings.ReplaceAll(asJSON(secret), "/", `\/`), "URL": url1, "path": url.PathEscape(secret), "URL in URL": url.QueryEscape(url1),
			"lower case": strings.ToLower(url.QueryEscape(strings.ToLower(secret))), "in JSON": asJSON("https://app:" + url1 + "@host"),
			"surrogates": strings.NewReplacer("🔑", `\uD83D\uDD11`, "ä", `\u00E4`).Replace(asJSON(secret)),
		} {
			if name == "lower case" {
				m = New(strings.ToLower(secret))
			}
			text := fmt.Sprintf("before %s after", form)
			masked := m.Text(text)
			if !strings.HasPrefix(masked, "before ") || !strings.HasSuffix(masked, " after") || !strings.Contains(masked, Hidden) || len(masked) > len(`before b"\\\\\\\***\\\\\\\" after`)+8 {
				t.Errorf("%q as %s is %s, which is masked as %s", secret, name, form, masked)
			}
			m = New(secret)
		}
	}
}

func TestTextInBase64(t *testing.T) {
	for _, secret := range []string{odd, "hunter2", "1234"} {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			for _, around := range []string{"%s", "u:%s", "app:%s", "user:%s.", "%s>>?", "\x00app\x00%s\x00"} {
				form := encoding.EncodeToString(fmt.Appendf(nil, around, secret))
				masked := New(secret).Text("Basic " + form)
				if !strings.Contains(masked, Hidden) {
					t.Errorf("%q in %q is %s, which is masked as %s", secret, around, form, masked)
				}
				if rest := strings.Join(strings.Split(masked, Hidden), ""); len(secret) > 8 && len(rest) > len("Basic ")+16 {
					t.Errorf("%q in %q is %s, and %s is left", secret, around, form, rest)
				}
			}
		}
	}
}

func TestTextKeepsOtherTexts(t *testing.T) {
	m := New("hunter2", "abc", "", "a", odd)
	for _, text := range []string{"", "abc", "a", "hunter", "Hunter2", `100% \ done`, `C:\nope\u00e4`, "%68unte", "%", `\`, "ä", "\xff"} {
		if got := m.Text(text); got != text {
			t.Errorf("%q contains no secret, and is masked as %q", text, got)
		}
	}
	for text, want := range map[string]string{
		"hunter2hunter2": Hidden + Hidden, "a hunter2, b": "a ***, b", "C:\\hunter2": "C:\\***", "hunthunter2er2": "hunt***er2",
	} {
		if got := m.Text(text); got != want {
			t.Errorf("%q is masked as %q, want %q", text, got, want)
		}
	}
	if got := (*Mask)(nil).Text("hunter2"); got != "hunter2" {
		t.Errorf("a nil mask makes %q", got)
	}
}

// TestTextPrefersTheLongest masks a secret that begins with another one.
func TestTextPrefersTheLongest(t *testing.T) {
	if got := New("pass", "password").Text("password pass passw"); got != "*** *** ***w" {
		t.Error(got)
	}
}

const pemText = `-----BEGIN CERTIFICATE-----
Y2VydGlmaWNhdGU=
-----END CERTIFICATE-----
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,ENCRYPTED

dGhlIGtleSBpcyBzZWNyZXQgYW5kIHRoZSBjZXJ0aWZpY2F0ZSBpcyBub3Q/Pz8/
bW9yZSBvZiBpdA==
-----END RSA PRIVATE KEY-----
`

func TestTextOfAPrivateKey(t *testing.T) {
	m := New(pemText)
	want := strings.NewReplacer("dGhlIGtleSBpcyBzZWNyZXQgYW5kIHRoZSBjZXJ0aWZpY2F0ZSBpcyBub3Q/Pz8/", Hidden, "bW9yZSBvZiBpdA==", Hidden).Replace(pemText)
	if got := m.Text(pemText); got != want {
		t.Errorf("the file is masked as\n%s", got)
	}
	if got := m.Text(asJSON(pemText)); got != asJSON(want) {
		t.Errorf("JSON is masked as\n%s", got)
	}
	joined := "dGhlIGtleSBpcyBzZWNyZXQgYW5kIHRoZSBjZXJ0aWZpY2F0ZSBpcyBub3Q/Pz8/bW9yZSBvZiBpdA=="
	if got := m.Text(joined); got != Hidden+Hidden {
		t.Errorf("the key in one line is masked as %s", got)
	}
}

// TestStream cuts a text at each place.
func TestStream(t *testing.T) {
	m := New(odd, "hunter2", "hunter2-and-more")
	text := "a " + odd + " b " + asJSON(asJSON(odd)) + " c " + url.QueryEscape(odd) + ` hunter2-and-less 100% hunter \`
	want := m.Text(text)
	for i := range len(text) {
		s := Stream{Mask: m}
		got := s.Next(text[:i]) + s.Next(text[i:])
		if got += s.Held(); got != want {
			t.Errorf("cut after %q:\n%q, want\n%q", text[:i], got, want)
		}
	}
	s, got := Stream{Mask: m}, ""
	for i := range len(text) {
		got += s.Next(text[i : i+1])
	}
	if got += s.Held(); got != want {
		t.Errorf("byte by byte:\n%q, want\n%q", got, want)
	}
	cutOff := Stream{Mask: m}
	if got := cutOff.Next("the end: hunte") + cutOff.Held(); got != "the end: "+Hidden {
		t.Errorf("a text that ends within a secret becomes %q", got)
	}
}

func TestError(t *testing.T) {
	m := New("hunter2")
	err := m.Error(fmt.Errorf("open hunter2: %w", fs.ErrNotExist))
	if err.Error() != "open ***: file does not exist" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v wraps %v", err, errors.Unwrap(err))
	}
	if m.Error(nil) != nil || m.Error(fs.ErrExist) != fs.ErrExist {
		t.Error("an error without a secret is changed")
	}
}
