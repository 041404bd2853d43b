package report

import (
	"fmt"
	"io"
	"path/filepath"
)

// DrawingFile is the page beside a history that shows the violation worth telling,
// operation by operation, in any browser.
const DrawingFile = "violation.html"

// EpisodeDrawingFile is the page that shows the first violation of an episode.
func EpisodeDrawingFile(n int) string { return fmt.Sprintf("violation-episode-%d.html", n) }

// WriteDrawing puts a page into the folder of a lock.
func (b *Bundle) WriteDrawing(lock, name string, draw func(io.Writer) error) error {
	folder := Bundle{Dir: filepath.Join(b.Dir, FolderName(lock))}
	return folder.Write(name, draw)
}
