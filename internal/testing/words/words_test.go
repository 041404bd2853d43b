// Package words checks the wording of comments, messages and docs.
package words

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	// banned are words that describe components as persons, or that are out of use in technical English.
	banned = regexp.MustCompile(`(?i)\b(nobody|somebody|whoever|whom|anew|mended|beside|for of|is told|is asked|the person)\b`)
	// headless are first words of a sentence that does not begin with its subject.
	headless = regexp.MustCompile(`^(What|Who|Whoever|Of)\s`)
	// code is quoted in a page, as are blocks of code and measurements.
	code = regexp.MustCompile("`[^`]*`")
)

// exceptions are files that may contain the words, with the reason.
var exceptions = map[string]string{
	"internal/testing/words/words_test.go":  "lists the words",
	"internal/service/postgres/postgres.go": "names the Unix user nobody",
}

// unwritten are directories of downloads and results. Directories that begin with a dot are left out, too.
var unwritten = map[string]bool{"build": true, "node_modules": true, "results": true, "target": true}

// TestWords checks all Go and Markdown files.
func TestWords(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	files := os.DirFS(root)
	checked := 0
	err := fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (unwritten[d.Name()] || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || path.Ext(file) != ".go" && path.Ext(file) != ".md":
			return nil
		}
		if _, excepted := exceptions[file]; excepted {
			return nil
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		checked++
		for _, f := range check(file, text) {
			t.Errorf("%s:%d: %q: say it in plain technical English", file, f.line, f.word)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 100 {
		t.Errorf("checked only %d files", checked)
	}
}

type finding struct {
	line int
	word string
}

func check(file string, text []byte) (found []finding) {
	look := func(line int, s string) {
		if first := headless.FindString(s); first != "" && !strings.HasSuffix(s, "?") {
			found = append(found, finding{line, strings.TrimSpace(first) + " ..."})
		}
		for _, at := range banned.FindAllStringIndex(s, -1) {
			found = append(found, finding{line + strings.Count(s[:at[0]], "\n"), s[at[0]:at[1]]})
		}
	}
	if path.Ext(file) != ".go" {
		quoted := false
		for i, line := range strings.Split(string(text), "\n") {
			switch {
			case strings.HasPrefix(line, "```"):
				quoted = !quoted
			case line == "<!-- measured -->":
				quoted = true
			case line == "<!-- /measured -->":
				quoted = false
			case !quoted:
				look(i+1, code.ReplaceAllString(line, ""))
			}
		}
		return found
	}
	// Consecutive line comments are one text, so that only its first word is taken for a beginning.
	files := token.NewFileSet()
	f := files.AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, scanner.ScanComments)
	var comment []string
	first, last := 0, 0
	flush := func() {
		if comment != nil {
			look(first, strings.Join(comment, "\n"))
		}
		comment = nil
	}
	for {
		pos, tok, lit := s.Scan()
		line := f.Line(pos)
		switch {
		case tok == token.EOF:
			flush()
			return found
		case tok == token.COMMENT:
			if line != last+1 {
				flush()
			}
			if comment == nil {
				first = line
			}
			comment = append(comment, strings.TrimPrefix(strings.TrimLeft(lit, "/*"), " "))
			last = line
		case tok == token.STRING:
			look(line, strings.Trim(lit, "\"`"))
		}
	}
}

func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name, file, text string
		want             int
	}{
		{"plain", "a.go", "package a\n\n// Run starts a client.\nvar Nobody = \"a client\"\n", 0},
		{"comment", "a.go", "package a\n\n// Run starts\n// what somebody needs.\n", 1},
		{"beginning", "a.go", "package a\n\n// What a client needs.\n", 1},
		{"question", "a.go", "package a\n\n// What does a client need?\n", 0},
		{"second line", "a.go", "package a\n\n// Run is for all.\n// Who needs it is in doc.go.\n", 0},
		{"message", "a.go", "package a\n\nvar s = \"the lock is asked for\"\n", 1},
		{"page", "a.md", "# Locks\n\nOf each lock it keeps the keys.\n", 1},
		{"quotation", "a.md", "The user `nobody`:\n\n```\nclient 1 is told\n```\n\nSomebody waits.\n", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := check(test.file, []byte(test.text)); len(got) != test.want {
				t.Errorf("found %v, want %d", got, test.want)
			}
		})
	}
}
