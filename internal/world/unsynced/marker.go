//go:build linux

package unsynced

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lockbench/internal/world"
)

// The markers are two files at the top of a disk, where no server looks. One is synced.
const (
	syncedMarker   = "marker-synced"
	unsyncedMarker = "marker-unsynced"
)

// LosePower is Lose with a proof: two files are written before, one of them is synced, and only that one may be found
// afterwards. It returns in words what was lost. A nil disk is the ordinary one of a machine, which loses nothing.
func (d *Disk) LosePower(names world.Names) (string, error) {
	if d == nil {
		return "", errors.New("its disk does not forget")
	}
	d.losses++
	token := fmt.Sprintf("loss %d", d.losses)
	if err := d.mark(token); err != nil {
		return "", fmt.Errorf("write the marker files of %s: %w", d.folder, err)
	}
	lost, err := d.Lose(names)
	if err == nil {
		err = d.marked(token, names)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("lost %d unsynced bytes of %d files, and the unsynced of two markers", lost.Bytes-int64(len(token)), lost.Files-1), nil
}

func (d *Disk) mark(token string) error {
	synced, unsynced := filepath.Join(d.folder, syncedMarker), filepath.Join(d.folder, unsyncedMarker)
	// A marker of the last loss must not make the name of this one durable.
	if err := os.Remove(unsynced); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.WriteFile(synced, []byte(token), 0o600); err != nil {
		return err
	}
	if err := errors.Join(syncPath(synced), syncPath(d.folder)); err != nil {
		return err
	}
	return os.WriteFile(unsynced, []byte(token), 0o600)
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// marked checks the markers after a loss.
func (d *Disk) marked(token string, names world.Names) error {
	text, err := os.ReadFile(filepath.Join(d.folder, syncedMarker))
	if err != nil || string(text) != token {
		return fmt.Errorf("the power loss is not one: the marker file of %s was synced, and has %q and not %q afterwards (%v)", d.folder, text, token, err)
	}
	text, err = os.ReadFile(filepath.Join(d.folder, unsyncedMarker))
	switch {
	case errors.Is(err, fs.ErrNotExist) && names == world.NamesLost:
		return nil
	case err == nil && len(text) == 0 && names == world.NamesKept:
		return nil
	}
	return fmt.Errorf("the power loss is not one: the marker file of %s was not synced, and is still there with %q (%v)", d.folder, text, err)
}
