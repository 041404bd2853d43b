// Package images has the files from which the images of servers are made.
package images

import _ "embed"

// Pack is a script that makes the file system of an image from programs of this machine.
//
//go:embed pack.sh
var Pack string

// Nft is a Dockerfile that adds nft to the image BASE.
//
//go:embed nft.Dockerfile
var Nft string
