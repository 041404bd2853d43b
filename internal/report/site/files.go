package site

import (
	"net/http"
	"path"
	"strings"

	"lockbench/internal/report/page"
)

// sandbox is the policy of the files of runs, reports among them: scripts run without the origin of the site.
const sandbox = "sandbox allow-scripts allow-popups allow-top-navigation-by-user-activation; default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'"

// file serves the files of the folder, and lists its folders.
func (s *Site) file(w http.ResponseWriter, r *http.Request) {
	name := path.Clean("./" + r.URL.Path)
	if path.Base(name) == page.File && !hidden(name) && s.isUnfinished(path.Dir(name)) {
		s.unfinished(w, path.Dir(name))
		return
	}
	info, err := s.root.Stat(name)
	// Opening a pipe would wait for its other end.
	if err != nil || hidden(name) || !info.IsDir() && !info.Mode().IsRegular() {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Security-Policy", sandbox)
	if ext := path.Ext(name); info.Mode().IsRegular() && ext != ".html" && ext != ".json" {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	http.FileServerFS(s.files).ServeHTTP(w, r)
}

// hidden reports whether a part of the name begins with a dot.
func hidden(name string) bool { return name != "." && strings.Contains("/"+name, "/.") }
