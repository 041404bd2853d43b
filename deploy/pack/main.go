// Command pack writes the file system of the image lockbench as a tar: a lockbench program and
// the servers of this machine. make image runs it.
//
//	go run ./deploy/pack build/image/lockbench build/image/rootfs-amd64.tar
package main

import (
	"context"
	"fmt"
	"os"

	"lockbench/internal/world/docker"
	services "lockbench/service/catalog"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack LOCKBENCH TAR")
		os.Exit(2)
	}
	program, to := os.Args[1], os.Args[2]
	content, err := docker.PackProgram(context.Background(), program, services.All()[:1])
	if err == nil {
		err = os.WriteFile(to, content, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
	fmt.Printf("%s: %d MB\n", to, len(content)>>20)
}
