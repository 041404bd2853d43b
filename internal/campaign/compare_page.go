package campaign

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

//go:embed compare.tmpl.html
var compareMarkup string

var comparePages = template.Must(template.New("compare").Funcs(page.Words).Parse(compareMarkup))

// compareView is what the template shows.
type compareView struct {
	page.Parts
	Outcome, Key  string
	Before, After string
	Changes       []changeView
	OnlyA, OnlyB  []string
	Rules         string
}

type changeView struct {
	Change
	Remark string
}

// SavePage writes what changed as a page. Before and after are what the two sides are
// called.
func (c *Comparison) SavePage(file, before, after string) error {
	b := report.Bundle{Dir: filepath.Dir(file)}
	return b.Write(filepath.Base(file), func(w io.Writer) error { return c.page(w, before, after) })
}

func (c *Comparison) page(w io.Writer, before, after string) error {
	said := map[int][2]string{
		report.ExitExpected:   {"nothing became worse", "good"},
		report.ExitUnexpected: {"something became worse", "bad"},
		report.ExitUnknown:    {"not everything was tried again", "unsure"},
	}[c.ExitCode()]
	v := compareView{Parts: page.Shared(), Outcome: said[0], Key: said[1], Before: before, After: after, OnlyA: c.OnlyA, OnlyB: c.OnlyB, Rules: c.rules()}
	for _, x := range c.Changes {
		remark := x.test()
		if remark == "" && !x.Worse {
			remark = report.OneLine(x.Note)
		}
		v.Changes = append(v.Changes, changeView{x, remark})
	}
	slices.SortStableFunc(v.Changes, func(a, b changeView) int {
		switch {
		case a.Worse == b.Worse:
			return 0
		case a.Worse:
			return -1
		}
		return 1
	})
	if err := comparePages.Execute(w, v); err != nil {
		return fmt.Errorf("write the page of the comparison: %w", err)
	}
	return nil
}
