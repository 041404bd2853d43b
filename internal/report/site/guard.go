package site

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// knownHost tells whether a name is this machine's. An address is nobody's to point
// elsewhere, so any will do.
func (s *Site) knownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.Trim(name, "[]"))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(s.o.Hosts, func(known string) bool { return strings.EqualFold(known, name) })
}

const (
	cookieName = "lockbench"
	enterPath  = "/~/enter"
	tokenField = "token"
	tokenBytes = 1 << 10
)

// pass is what a browser keeps in place of the token.
func (s *Site) pass() string {
	m := hmac.New(sha256.New, []byte(s.o.Token))
	m.Write([]byte("lockbench serve"))
	return hex.EncodeToString(m.Sum(nil))
}

// same compares in a time that says nothing of either.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return hmac.Equal(x[:], y[:])
}

// admitted tells whether the one who asks knows the token, and else asks for it.
func (s *Site) admitted(w http.ResponseWriter, r *http.Request) bool {
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && same(bearer, s.o.Token) {
		return true
	}
	if c, err := r.Cookie(cookieName); err == nil && same(c.Value, s.pass()) {
		return true
	}
	wrong := false
	if r.URL.Path == enterPath && r.Method == http.MethodPost {
		r.Body = http.MaxBytesReader(w, r.Body, tokenBytes)
		if same(r.PostFormValue(tokenField), s.o.Token) {
			// Lax: the pages of the folder are strangers to the site, and lead to each other.
			http.SetCookie(w, &http.Cookie{Name: cookieName, Value: s.pass(), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
			http.Redirect(w, r, "/", http.StatusSeeOther)
			return false
		}
		wrong = true
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("WWW-Authenticate", `Bearer realm="lockbench"`)
	w.WriteHeader(http.StatusUnauthorized)
	s.show(w, "enter", struct {
		frame
		Wrong bool
	}{newFrame("Results of lockbench", "lockbench · results folder", ""), wrong})
	return false
}
