package claim

import (
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

// unmount detaches the file systems that a killed process has left below a directory.
func unmount(dir string) {
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(mounts)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		at := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(words[1])
		if !strings.HasPrefix(at, dir+"/") {
			continue
		}
		if unix.Unmount(at, unix.MNT_FORCE|unix.MNT_DETACH) != nil {
			_ = exec.Command("fusermount3", "-u", "-z", at).Run() // the removal of the directory fails if this does
		}
	}
}
