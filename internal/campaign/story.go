package campaign

import (
	"path/filepath"

	"lockbench/checker"
	"lockbench/internal/history"
	"lockbench/internal/report"
)

// stories tell of each lock that is not as expected how it broke, in the first of its
// runs whose history is still there.
func (r *Row) stories(dir string) report.Stories {
	all := report.Stories{}
	for _, l := range r.wrong() {
		if l.Verdict != checker.Violated || l.Error != "" {
			continue
		}
		for _, ran := range r.runsOf(l.Lock) {
			if all[l.Lock] = story(filepath.Join(dir, filepath.FromSlash(ran.Dir)), l.Lock); len(all[l.Lock]) > 0 {
				break
			}
		}
	}
	return all
}

// story is that of a lock in the folder of a run; nothing if it did not break there, or if
// its history cannot be read.
func story(dir, lock string) []string {
	b, err := report.Load(dir)
	if err != nil || b.Result == nil {
		return nil
	}
	for i := range b.Result.Locks {
		l := &b.Result.Locks[i]
		f, found := l.FirstFinding()
		if l.Lock != lock || !found || l.Verdict != checker.Violated {
			continue
		}
		h, err := history.ReadFile(filepath.Join(dir, report.FolderName(lock), report.HistoryFile))
		if err != nil {
			return nil
		}
		return report.Story(h, f)
	}
	return nil
}
