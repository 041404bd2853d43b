package report

import (
	"io"
	"path/filepath"
)

// DrawingFile is the page beside a history that shows the violation worth telling,
// operation by operation, in any browser.
const DrawingFile = "violation.html"

// WriteDrawing puts the page of a lock into its folder.
func (b *Bundle) WriteDrawing(lock string, draw func(io.Writer) error) error {
	folder := Bundle{Dir: filepath.Join(b.Dir, FolderName(lock))}
	return folder.Write(DrawingFile, draw)
}
