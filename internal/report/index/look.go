package index

import (
	"io/fs"
	"path"

	"lockbench/internal/report"
	"lockbench/internal/report/page"
)

// campaignFile marks the folder of a campaign. The index reads the campaign's runs, not this file.
const campaignFile = "campaign.json"

// result identifies a version of a result.json.
type result struct {
	Dir      string `json:"dir"` // of the run, relative to the results folder, with slashes
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds
	Page     string `json:"page"`     // the page of the run, in its folder; a report is written after its result
}

// look finds the runs of a results folder: <scenario>/<run>, and those of campaigns,
// matrix/<campaign>/<world>/<scenario>/<run>.
func look(root fs.FS) (Shelf, error) {
	var s Shelf
	outer, err := folders(root, ".")
	if err != nil {
		return s, err
	}
	for _, a := range outer {
		if isFile(root, a, campaignFile) { // a campaign outside of matrix, such as the reference
			s.campaign(root, a)
			continue
		}
		inner, _ := folders(root, a) // a folder that cannot be read has no runs
		for _, b := range inner {
			if !s.run(root, b) && isFile(root, b, campaignFile) {
				s.campaign(root, b)
			}
		}
	}
	return s, nil
}

// run adds a folder that has a result.json.
func (s *Shelf) run(root fs.FS, dir string) bool {
	info, err := fs.Stat(root, path.Join(dir, report.ResultFile))
	if err != nil || !info.Mode().IsRegular() {
		if isFile(root, dir, report.PlanFile) {
			s.open = append(s.open, dir)
		}
		return false
	}
	leads := report.ResultFile
	for _, name := range []string{page.File, report.SummaryFile} {
		if isFile(root, dir, name) {
			leads = name
			break
		}
	}
	s.results = append(s.results, result{dir, info.Size(), info.ModTime().UnixNano(), leads})
	return true
}

// campaign adds the page and the runs of a campaign.
func (s *Shelf) campaign(root fs.FS, dir string) {
	if isFile(root, dir, page.File) {
		s.campaigns = append(s.campaigns, path.Join(dir, page.File))
	}
	worlds, _ := folders(root, dir)
	for _, w := range worlds {
		scenarios, _ := folders(root, w)
		for _, scenario := range scenarios {
			runs, _ := folders(root, scenario)
			for _, r := range runs {
				s.run(root, r)
			}
		}
	}
}

// folders are the folders in a folder, without links.
func folders(root fs.FS, dir string) ([]string, error) {
	entries, err := fs.ReadDir(root, dir)
	if err != nil {
		return nil, err
	}
	var all []string
	for _, e := range entries {
		if e.Type()&fs.ModeType == fs.ModeDir {
			all = append(all, path.Join(dir, e.Name()))
		}
	}
	return all, nil
}

func isFile(root fs.FS, dir, name string) bool {
	info, err := fs.Stat(root, path.Join(dir, name))
	return err == nil && info.Mode().IsRegular()
}
