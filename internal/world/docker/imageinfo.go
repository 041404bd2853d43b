package docker

import "time"

// AskedLimit bounds how long users who asked for an image wait for it.
const AskedLimit = 10 * time.Minute

// ImageInfo is an image that servers can be started from.
type ImageInfo struct {
	Name  string
	From  string // what it was made from, in words
	Built bool   // just now; else it was there
	Bytes int64
}
