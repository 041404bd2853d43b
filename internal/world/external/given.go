package external

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"

	"lockbench/internal/regular"
	"lockbench/internal/service"
)

// Given names the servers and how to reach them.
type Given struct {
	Servers []string `json:"servers,omitempty"` // URLs; several may stand in one, with commas between
	Hooks   string   `json:"hooks,omitempty"`   // a file
	// CA, Cert and Key are PEM files, and TLSName is the expected name of certificates.
	CA      string `json:"tls_ca,omitempty"`
	Cert    string `json:"tls_cert,omitempty"`
	Key     string `json:"tls_key,omitempty"`
	TLSName string `json:"tls_name,omitempty"`
}

// Words returns the equivalent flags.
func (g Given) Words() []string {
	var words []string
	for _, url := range g.Servers {
		words = append(words, "--servers", url)
	}
	for _, flag := range [][2]string{{"--hooks", g.Hooks}, {"--tls-ca", g.CA}, {"--tls-cert", g.Cert}, {"--tls-key", g.Key}, {"--tls-name", g.TLSName}} {
		if flag[1] != "" {
			words = append(words, flag[:]...)
		}
	}
	return words
}

// Read makes options of the flags and the environment. Its errors are usage errors.
func (g Given) Read(all []*service.Service, getenv func(string) string) (o Options, err error) {
	urls := g.urls()
	if o.Service, err = serviceOf(urls, all); err != nil {
		return o, err
	}
	if o.Location, err = o.Service.External.Locate(urls); err != nil {
		if errors.Is(err, service.ErrPassword) {
			err = fmt.Errorf("%w; %s", err, o.passwords())
		}
		return o, fmt.Errorf("--servers %w", err)
	}
	o.Location.Logins, o.Sources = map[service.Role]service.Credentials{}, map[service.Role]string{}
	for _, p := range o.Location.Topology.Parts {
		l, source, err := login(p.Name, getenv)
		if err != nil {
			return o, err
		}
		switch {
		case o.Location.NoLogin != "" && (l != (service.Credentials{}) || o.Location.User != ""):
			return o, fmt.Errorf("no user and no password can be given for %s: %s", o.Service.Name, o.Location.NoLogin)
		case p.Role == service.Data && l.User != "" && o.Location.User != "":
			return o, fmt.Errorf("the user of %s is named twice, by the URL and by %s", p.Name, variable(p.Name, "USER"))
		case p.Role == service.Data && l.User == "":
			l.User = o.Location.User
		}
		o.Location.Logins[p.Role], o.Sources[p.Role] = l, source
	}
	// Sentinels usually have the password of the data nodes.
	data := o.Location.Logins[service.Data]
	if w, ok := o.Location.Logins[service.Witness]; ok && w == (service.Credentials{}) && data.User == "" {
		o.Location.Logins[service.Witness] = data
		o.Sources[service.Witness] = o.Sources[service.Data] + " or " + o.Sources[service.Witness]
	}
	if data.User != "" && data.Password == "" && !o.Location.Passwordless {
		return o, fmt.Errorf("--servers names the user %s, and no password is given: %s", data.User, o.Sources[service.Data])
	}
	if o.TLS, o.Key, err = g.tls(o.Location.TLS); err != nil {
		return o, err
	}
	if g.Hooks != "" {
		if o.Hooks, err = ReadHooks(g.Hooks); err != nil {
			return o, fmt.Errorf("--hooks %w", err)
		}
	}
	return o, nil
}

// passwords says where a password is given instead of in a URL.
func (o Options) passwords() string {
	if o.Location.NoLogin != "" {
		return fmt.Sprintf("lockbench supports no password for %s: %s", o.Service.Name, o.Location.NoLogin)
	}
	data := o.Service.Topologies[0].Parts[0].Name
	return "set " + variable(data, "PASSWORD") + ", or " + variable(data, "PASSWORD_FILE") + " to a file that has it"
}

// urls splits a list of URLs. Commas may also separate the hosts of one URL.
func (g Given) urls() []string {
	var urls []string
	for _, text := range g.Servers {
		for i, piece := range strings.Split(text, ",") {
			if i > 0 && !strings.Contains(piece, "://") {
				urls[len(urls)-1] += "," + piece
				continue
			}
			urls = append(urls, strings.TrimSpace(piece))
		}
	}
	return urls
}

// serviceOf returns the service of all URLs, by their schemes.
func serviceOf(urls []string, all []*service.Service) (*service.Service, error) {
	if len(urls) == 0 {
		return nil, errors.New("--servers is empty: it wants URLs such as SERVICE://HOST:PORT")
	}
	var first *service.Service
	for _, text := range urls {
		scheme, _, ok := strings.Cut(text, "://")
		if !ok {
			return nil, fmt.Errorf("--servers %s: not a URL such as SERVICE://HOST:PORT", service.Redacted(text))
		}
		name, _, _ := strings.Cut(scheme, "+")
		i := slices.IndexFunc(all, func(s *service.Service) bool { return slices.Contains(s.External.Schemes, name) })
		switch {
		case i < 0:
			return nil, fmt.Errorf("--servers: no lock service is called %q; external servers can be those of %s", name, strings.Join(service.Names(all), ", "))
		case first != nil && first.Name != all[i].Name:
			return nil, fmt.Errorf("--servers: a run is on servers of one service, not of %s and %s", first.Name, all[i].Name)
		}
		first = all[i]
	}
	return first, nil
}

// variable returns the name of an environment variable for the nodes of one part.
func variable(part, what string) string { return "LOCKBENCH_" + strings.ToUpper(part) + "_" + what }

// Variables returns the names of all environment variables that contain a secret, or the name of a file with one.
func Variables(all []*service.Service) []string {
	var names []string
	for _, s := range all {
		for _, t := range s.Topologies {
			for _, p := range t.Parts {
				names = append(names, variable(p.Name, "PASSWORD"), variable(p.Name, "PASSWORD_FILE"))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// login reads the credentials for the nodes of one part, and returns the source of the password for messages.
func login(part string, getenv func(string) string) (l service.Credentials, source string, err error) {
	own, file := variable(part, "PASSWORD"), variable(part, "PASSWORD_FILE")
	source = own + " (or of the file that " + file + " names)"
	l.User, l.Password = getenv(variable(part, "USER")), getenv(own)
	path := getenv(file)
	if path == "" {
		return l, source, nil
	}
	if l.Password != "" {
		return l, source, fmt.Errorf("%s and %s are both set: give one of them", own, file)
	}
	text, err := regular.ReadFile(path)
	if err != nil {
		return l, source, fmt.Errorf("%s: %w", file, err)
	}
	if l.Password = strings.TrimRight(string(text), "\r\n"); l.Password == "" {
		return l, source, fmt.Errorf("%s: %s is empty", file, path)
	}
	return l, source, nil
}

// tls reads the certificates. key is the text of the file of the private key.
func (g Given) tls(wanted bool) (c *tls.Config, key string, err error) {
	if !wanted {
		if g.CA != "" || g.Cert != "" || g.Key != "" || g.TLSName != "" {
			return nil, "", errors.New("--tls-ca, --tls-cert, --tls-key and --tls-name are for URLs that ask for TLS, such as rediss://, etcds:// or postgres+tls://")
		}
		return nil, "", nil
	}
	c = &tls.Config{ServerName: g.TLSName}
	if g.CA != "" {
		text, err := regular.ReadFile(g.CA)
		if err != nil {
			return nil, "", fmt.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, "", fmt.Errorf("--tls-ca: there is no certificate in PEM in %s", g.CA)
		}
	}
	if (g.Cert == "") != (g.Key == "") {
		return nil, "", errors.New("--tls-cert and --tls-key: give both or none")
	}
	if g.Cert != "" {
		pair, text, err := readPair(g.Cert, g.Key)
		if err != nil {
			return nil, "", fmt.Errorf("--tls-cert %s, --tls-key %s: %w", g.Cert, g.Key, err)
		}
		c.Certificates, key = []tls.Certificate{pair}, text
	}
	return c, key, nil
}

// readPair reads a certificate and its private key, and returns the text of the key's file.
func readPair(certFile, keyFile string) (pair tls.Certificate, text string, err error) {
	cert, err := regular.ReadFile(certFile)
	if err != nil {
		return pair, "", err
	}
	key, err := regular.ReadFile(keyFile)
	if err != nil {
		return pair, "", err
	}
	pair, err = tls.X509KeyPair(cert, key)
	return pair, string(key), err
}
