package service

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
)

// URL names servers: SCHEME://USER@HOST:PORT,HOST:PORT/PATH.
type URL struct {
	Scheme, User, Path string
	Addrs              []string // host:port
}

// ErrPassword refuses a password in a URL.
var ErrPassword = errors.New("a password in a URL would be read by others, in the list of processes and in results")

// Redacted replaces the password in a URL. Unlike [url.URL.Redacted], it also takes a text that is
// not a valid URL, because messages quote such texts.
func Redacted(text string) string {
	begin := 0
	if i := strings.Index(text, "://"); i >= 0 {
		begin = i + len("://")
	}
	end := strings.LastIndex(text, "@") // a password may contain any letter
	if end < begin {
		return text
	}
	user, _, secret := strings.Cut(text[begin:end], ":")
	if !secret {
		return text
	}
	return text[:begin] + user + ":xxxxx" + text[end:]
}

// ReadURL parses a URL. Port is the default port.
func ReadURL(text, port string) (u URL, err error) {
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		return u, errors.New("this is not a URL such as SERVICE://HOST:PORT")
	}
	u.Scheme = scheme
	hosts, path, _ := strings.Cut(rest, "/")
	u.Path = path
	if at := strings.LastIndex(hosts, "@"); at >= 0 {
		user, _, secret := strings.Cut(hosts[:at], ":")
		if secret {
			return u, ErrPassword
		}
		if u.User, err = url.PathUnescape(user); err != nil {
			return u, fmt.Errorf("the user: %w", err)
		}
		hosts = hosts[at+1:]
	}
	for host := range strings.SplitSeq(hosts, ",") {
		addr, err := addrOf(host, port)
		if err != nil && strings.Contains(path, "@") {
			return u, ErrPassword // which contains a slash
		}
		if err != nil {
			return u, err
		}
		u.Addrs = append(u.Addrs, addr)
	}
	return u, nil
}

// addrOf returns host:port.
func addrOf(text, usual string) (string, error) {
	u, err := url.Parse("tcp://" + text)
	if err != nil || u.Hostname() == "" || u.Host != text || u.RawQuery != "" {
		return "", fmt.Errorf("%q is not a HOST or HOST:PORT", text)
	}
	port := u.Port()
	if port == "" {
		port = usual
	}
	return net.JoinHostPort(u.Hostname(), port), nil
}

// OneGroup reads the URLs of the servers of one group. A URL may name several servers.
func OneGroup(urls []string, port string) (all URL, err error) {
	for i, text := range urls {
		u, err := ReadURL(text, port)
		if err != nil {
			return all, fmt.Errorf("%s: %w", Redacted(text), err)
		}
		if i == 0 {
			all = u
			continue
		}
		if u.Scheme != all.Scheme || u.User != all.User || u.Path != all.Path {
			return all, fmt.Errorf("%s: these servers are one group: use the same scheme, user and path in each URL", Redacted(text))
		}
		all.Addrs = append(all.Addrs, u.Addrs...)
	}
	return all, Twice(all.Addrs)
}

// URLForm is how a user names the servers of one group.
type URLForm struct {
	Plain, TLS []string // schemes, without and with TLS
	Port       string   // the default port
	Named      string   // how servers are named, for errors
	NoPath     string   // why a URL has no path; empty: the path is the database
	One        Topology // of one server
	Several    Topology // of several servers; zero: the user must name the primary
	Location   Location // defaults
}

// Schemes returns the schemes up to a plus.
func (f URLForm) Schemes() []string {
	all := slices.Concat(f.Plain, f.TLS)
	for i, scheme := range all {
		all[i], _, _ = strings.Cut(scheme, "+")
	}
	return all
}

// Locate reads URLs.
func (f URLForm) Locate(urls []string) (Location, error) {
	l := f.Location
	u, err := OneGroup(urls, f.Port)
	if err != nil {
		return l, err
	}
	l.Addrs, l.TLS = u.Addrs, slices.Contains(f.TLS, u.Scheme)
	l.User, l.Database = cmp.Or(u.User, l.User), cmp.Or(u.Path, l.Database)
	l.Topology = f.One
	several := len(l.Addrs) > 1
	if several {
		l.Topology = f.Several.Sized(len(l.Addrs))
	}
	switch {
	case !l.TLS && !slices.Contains(f.Plain, u.Scheme):
		return l, fmt.Errorf("%s: %s", urls[0], f.Named)
	case f.NoPath != "" && u.Path != "":
		return l, fmt.Errorf("%s: the path /%s cannot be used: %s", urls[0], u.Path, f.NoPath)
	case strings.Contains(u.Path, "?"):
		return l, fmt.Errorf("%s: settings in a URL mean nothing here: TLS is %s://, and --tls-ca FILE", urls[0], f.TLS[0])
	case several && f.Several.Name == "":
		return l, fmt.Errorf("one server of %s can be used, and not several: name the primary", f.One.Parts[0].Name)
	}
	return l, nil
}

// Twice returns an error if an address occurs twice.
func Twice(addrs []string) error {
	for i, one := range addrs {
		if slices.Contains(addrs[:i], one) {
			return fmt.Errorf("%s is named twice", one)
		}
	}
	return nil
}
