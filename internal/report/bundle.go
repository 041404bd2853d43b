package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"lockbench/internal/regular"
)

// The files of a bundle. Each lock also has a folder with its history and its logs.
const (
	ScenarioFile = "scenario.yaml"
	PlanFile     = "plan.yaml"
	ResultFile   = "result.json"
	SummaryFile  = "summary.md"
	JUnitFile    = "junit.xml"
	HistoryFile  = "history.jsonl"
	CampaignFile = "campaign.json"  // of a folder with several runs
	DrawingFile  = "violation.html" // next to a history: its first violation, operation by operation
	LogsFolder   = "logs"
	LatestLink   = "latest"
)

// Bundle is one run on disk:
//
//	results/<scenario>/<stamp>-<seed>/
//	  scenario.yaml plan.yaml result.json report.html summary.md junit.xml
//	  <lock>/history.jsonl  <lock>/violation.html  <lock>/logs/
//	results/latest -> the newest run
//
// Histories grow during the run. All other files are replaced atomically.
type Bundle struct {
	Dir string // the folder of this run
	Out string // outDir of Create; empty for a loaded bundle

	// Load sets Result and Histories. Result is nil if the run ended before it wrote one; its histories can
	// still be judged.
	Result    *Result
	Histories []LockHistory
}

// Gone returns an error that names the locks of the result whose histories are missing.
func (b *Bundle) Gone() error {
	if b.Result == nil {
		return nil
	}
	gone := Gone(os.DirFS(b.Dir), b.Result.Recorded())
	if len(gone) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s names these locks, and their %s is gone: %s", b.Dir, ResultFile, HistoryFile, strings.Join(gone, ", "))
}

// Gone returns those of the locks whose histories are missing in the folder of their run. If it has neither a history nor
// the plan of the run, its result was copied without them, and nothing is missing.
func Gone(folder fs.FS, locks []string) []string {
	has := func(name string) bool {
		info, err := fs.Stat(folder, name)
		return err == nil && info.Mode().IsRegular()
	}
	gone := slices.DeleteFunc(slices.Clone(locks), func(lock string) bool { return has(path.Join(FolderName(lock), HistoryFile)) })
	if len(gone) == len(locks) && !has(PlanFile) {
		return nil
	}
	return gone
}

// LockHistory is the path of the history of a lock.
type LockHistory struct {
	Lock string
	Path string
}

// Begun reports whether the history has a whole header. A run that is killed as it starts leaves files without
// one. A file that cannot be read counts as begun, so that reading it reports the error.
func (h LockHistory) Begun() bool {
	f, err := os.Open(h.Path)
	if err != nil {
		return true
	}
	defer func() { _ = f.Close() }()
	line, err := bufio.NewReader(f).ReadSlice('\n')
	return len(line) > 0 && !errors.Is(err, io.EOF)
}

// Create makes the folder of a new run. Two runs with the same second and seed get different folders.
func Create(outDir, scenario string, stamp time.Time, seed uint64) (*Bundle, error) {
	parent := filepath.Join(outDir, FolderName(scenario))
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, advise("create results folder", parent, err)
	}
	base := stamp.UTC().Format("20060102-150405") + "-" + strconv.FormatUint(seed, 10)
	const attemptsMax = 1000
	for i := 1; i <= attemptsMax; i++ {
		name := base
		if i > 1 {
			name += "." + strconv.Itoa(i)
		}
		dir := filepath.Join(parent, name)
		err := os.Mkdir(dir, 0o755)
		if err == nil {
			return &Bundle{Dir: dir, Out: outDir}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, advise("create results folder", dir, err)
		}
	}
	return nil, fmt.Errorf("create results folder %s: it exists, and so do %d others of the same name; choose another folder with --out DIR",
		filepath.Join(parent, base), attemptsMax-1)
}

// LinkLatest points results/latest at this run. An error need not fail the run: use Dir instead of the link.
func (b *Bundle) LinkLatest() error {
	link := filepath.Join(b.Out, LatestLink)
	if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("point %s at this run: it exists and is not a link; move it away to get the link again", link)
	}
	target, err := filepath.Rel(b.Out, b.Dir)
	if err != nil {
		return fmt.Errorf("point %s at this run: %w", link, err)
	}
	// A rename replaces the link atomically, also if two runs end at the same time.
	temp := link + "." + strconv.Itoa(os.Getpid()) + ".tmp"
	_ = os.Remove(temp) // a process that died here may have had the same ID
	if err := os.Symlink(target, temp); err != nil {
		return fmt.Errorf("point %s at this run: %w; the run itself is in %s", link, err, b.Dir)
	}
	if err := os.Rename(temp, link); err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("point %s at this run: %w; the run itself is in %s", link, err, b.Dir)
	}
	return nil
}

// LockDir makes and returns the folder of a lock and its logs folder.
func (b *Bundle) LockDir(lock string) (dir, logs string, err error) {
	dir = filepath.Join(b.Dir, FolderName(lock))
	logs = filepath.Join(dir, LogsFolder)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return "", "", advise("create folder of "+lock, logs, err)
	}
	return dir, logs, nil
}

// CreateHistory opens a new history of a lock for writing. It never overwrites one.
func (b *Bundle) CreateHistory(lock string) (*os.File, error) {
	dir, _, err := b.LockDir(lock)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, HistoryFile)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, advise("create history of "+lock, path, err)
	}
	return f, nil
}

// WriteScenario writes the scenario of the run.
func (b *Bundle) WriteScenario(text []byte) error {
	return WriteText(filepath.Join(b.Dir, ScenarioFile), text)
}

// WritePlan writes the plan that was drawn from the seed.
func (b *Bundle) WritePlan(text []byte) error { return WriteText(filepath.Join(b.Dir, PlanFile), text) }

// WriteResult writes result.json.
func (b *Bundle) WriteResult(r *Result) error {
	return b.Write(ResultFile, func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		return e.Encode(r)
	})
}

// WriteReports writes result.json, summary.md and junit.xml. If one of them fails, it still writes the others.
func (b *Bundle) WriteReports(r *Result) error {
	return errors.Join(b.WriteResult(r), b.WriteSummaries(r))
}

// WriteSummaries writes summary.md and junit.xml.
func (b *Bundle) WriteSummaries(r *Result) error {
	return errors.Join(
		b.Write(SummaryFile, func(w io.Writer) error { return Summary(w, r) }),
		b.Write(JUnitFile, func(w io.Writer) error { return JUnit(w, r) }),
	)
}

// Write writes a file of the bundle atomically.
func (b *Bundle) Write(name string, write func(io.Writer) error) error {
	return WriteFile(filepath.Join(b.Dir, name), write)
}

// WriteFile writes a file atomically.
func WriteFile(path string, write func(io.Writer) error) error {
	temp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp")
	if err != nil {
		return advise("write", path, err)
	}
	err = errors.Join(write(temp), temp.Chmod(0o644))
	// After a power failure, the name must not lead to a part of the file.
	err = errors.Join(err, temp.Sync())
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return advise("write", path, err)
	}
	return nil
}

// WriteText writes a text atomically.
func WriteText(path string, text []byte) error {
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// Load opens the folder of an earlier run. Histories are in the order of the result's locks, then by name.
func Load(dir string) (*Bundle, error) {
	b := &Bundle{Dir: dir}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; name the folder of a run, such as results/latest", dir)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, advise("read results folder", dir, err)
	}
	b.Result, err = readResult(filepath.Join(dir, ResultFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	add := func(lock, folder string) {
		path := filepath.Join(dir, folder, HistoryFile)
		if !slices.ContainsFunc(b.Histories, func(h LockHistory) bool { return h.Path == path }) && regular.Is(path) {
			b.Histories = append(b.Histories, LockHistory{lock, path})
		}
	}
	if b.Result != nil {
		for l := range b.Result.All() {
			add(l.Lock, FolderName(l.Lock))
		}
	}
	for _, e := range entries {
		add(e.Name(), e.Name())
	}
	if b.Result == nil && len(b.Histories) == 0 {
		return nil, fmt.Errorf("read results folder %s: it has no %s and no folder with a %s; name the folder of one run, such as results/latest",
			dir, ResultFile, HistoryFile)
	}
	return b, nil
}

func readResult(path string) (*Result, error) {
	text, err := regular.ReadFile(path)
	if err != nil {
		return nil, advise("read", path, err)
	}
	r, err := ReadResult(text)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return r, nil
}

// ReadResult reads the text of a result.json.
func ReadResult(text []byte) (*Result, error) {
	// The schema is checked first, because a newer file may not fit these types.
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, damaged(err)
	}
	if head.Schema != SchemaVersion {
		return nil, fmt.Errorf("it has schema %d and this lockbench reads schema %d; read it with the lockbench that wrote it", head.Schema, SchemaVersion)
	}
	r := new(Result)
	if err := json.Unmarshal(text, r); err != nil {
		return nil, damaged(err)
	}
	return r, nil
}

// damaged adds the remedy to the error of a result.json that cannot be read.
func damaged(err error) error {
	return fmt.Errorf("%w; move the file away, and `lockbench report` judges the histories of the folder again", err)
}
