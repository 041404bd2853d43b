package report

import (
	"io"
	"path/filepath"
)

// DrawingFile is the page next to a history that shows the first violation operation by operation.
const DrawingFile = "violation.html"

// WriteDrawing writes the drawing of a lock.
func (b *Bundle) WriteDrawing(lock string, draw func(io.Writer) error) error {
	folder := Bundle{Dir: filepath.Join(b.Dir, FolderName(lock))}
	return folder.Write(DrawingFile, draw)
}
