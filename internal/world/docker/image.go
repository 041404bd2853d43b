//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"lockbench/internal/world"
	"lockbench/service"
)

const (
	// imageLabel marks the images that lockbench made, so that users can remove them.
	imageLabel = "lockbench.image"
	// fetchLimit bounds how long a run waits for a registry and a package mirror.
	fetchLimit = time.Minute
)

// images finds and builds the images of one service.
type images struct {
	*Options
	service service.Service
}

func (w *World) images(s service.Service) images { return images{&w.options, s} }

// own is the user's image, and program the program of the nodes of a built one.
func (w images) own() string     { return w.Images[w.service.Name()] }
func (w images) program() string { return w.Programs[w.service.Name()] }

// words are inserted before the arguments of the service's program, except the user's own.
func (w images) words() []string {
	first := w.service.Needs().Programs[0]
	if filepath.Base(cmp.Or(w.program(), first.Name)) != first.Name {
		return nil
	}
	return first.Words
}

// repository is the name of the images that we build. A tag is a digest of the content.
func (w images) repository() string { return "lockbench-" + w.service.Name() }

// registryBase is the base image if this machine lacks the programs of the service.
func (w images) registryBase() string {
	return cmp.Or(w.Bases[w.service.Name()], w.service.Needs().Image)
}

// dockerfile adds nft to an official image.
func dockerfile(base string) string {
	return `FROM ` + base + `
LABEL ` + imageLabel + `=registry
RUN command -v nft >/dev/null || { apt-get update && apt-get install -y --no-install-recommends nftables && rm -rf /var/lib/apt/lists/*; }
`
}

// find finds or builds the image for servers: the user's; else one of this machine's programs, which needs no
// registry; else an official one with nft, from a registry.
func (w images) find(ctx context.Context, api client.APIClient) (ImageInfo, error) {
	if w.own() != "" {
		return w.ownImage(ctx, api)
	}
	programs, missing := findPrograms(w.service, w.program())
	if missing == nil {
		return w.machineImage(ctx, api, programs)
	}
	if w.program() != "" {
		return ImageInfo{}, missing
	}
	if w.registryBase() == "" {
		return ImageInfo{}, fmt.Errorf("there is no image to start %s from: %w", w.service.Name(), missing)
	}
	info, err := w.registryImage(ctx, api)
	if toFetch := (*world.ToFetch)(nil); errors.As(err, &toFetch) {
		return info, err
	} else if err != nil {
		return info, fmt.Errorf("there is no image to start servers from: %w; nor one from %s: %w", missing, w.registryBase(), err)
	}
	return info, nil
}

func (w images) ownImage(ctx context.Context, api client.APIClient) (ImageInfo, error) {
	info := ImageInfo{Name: w.own(), From: "as it is"}
	found, err := api.ImageInspect(ctx, info.Name)
	if errdefs.IsNotFound(err) {
		if w.NoFetch {
			return info, fmt.Errorf("the image of --image %s=%s is not here: docker pull %s", w.service.Name(), info.Name, info.Name)
		}
		w.Say("fetching the image " + info.Name)
		limited, cancel := contextWithLimit(ctx, AskedLimit, "fetch the image "+info.Name)
		defer cancel()
		if err := w.pull(limited, api, info.Name); err != nil {
			return info, fmt.Errorf("the image of --image %s=%s is neither here nor in a registry: %w", w.service.Name(), info.Name, err)
		}
		info.Built = true
		found, err = api.ImageInspect(ctx, info.Name)
	}
	if err != nil {
		return info, fmt.Errorf("look at the image of --image %s=%s: %w", w.service.Name(), info.Name, explain(err))
	}
	info.Bytes = found.Size
	return info, nil
}

// inspect reports whether the daemon has the image, and notes its size.
func (i *ImageInfo) inspect(ctx context.Context, api client.APIClient) (found bool, err error) {
	image, err := api.ImageInspect(ctx, i.Name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, explain(err)
	}
	i.Bytes = image.Size
	return true, nil
}

// machineImage is an image of this machine's programs.
func (w images) machineImage(ctx context.Context, api client.APIClient, programs []program) (ImageInfo, error) {
	info := ImageInfo{From: "this machine's programs"}
	content, err := gather(ctx, programs, w.service.Needs())
	if err != nil {
		return info, fmt.Errorf("make an image of this machine's programs: %w", err)
	}
	digest, err := content.digest()
	if err != nil {
		return info, err
	}
	info.Name = w.repository() + ":" + digest[:12]
	if found, err := info.inspect(ctx, api); found || err != nil {
		return info, err
	}
	packed, err := content.pack()
	if err != nil {
		return info, err
	}
	result, err := api.ImageImport(ctx, client.ImageImportSource{Source: bytes.NewReader(packed), SourceName: "-"}, info.Name,
		client.ImageImportOptions{Message: "made by lockbench", Changes: []string{
			"ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"LABEL " + imageLabel + "=machine",
		}})
	if err == nil {
		err = errors.Join(readProgress(result, nil), result.Close())
	}
	if err != nil {
		return info, fmt.Errorf("import an image of this machine's programs: %w", explain(err))
	}
	info.Built, info.Bytes = true, int64(len(packed))
	return info, nil
}

// registryImage is an official image with nft.
func (w images) registryImage(ctx context.Context, api client.APIClient) (ImageInfo, error) {
	base := w.registryBase()
	sum := sha256.Sum256([]byte(dockerfile(base)))
	info := ImageInfo{Name: w.repository() + ":registry-" + hex.EncodeToString(sum[:6]), From: base + " and nft"}
	if found, err := info.inspect(ctx, api); found || err != nil {
		return info, err
	}
	if w.NoFetch {
		return info, &world.ToFetch{What: base}
	}
	limit := cmp.Or(w.FetchLimit, fetchLimit)
	w.Say(fmt.Sprintf("fetching %s, and adding nft to it; this is done once, and given up after %v", base, limit))
	limited, cancel := contextWithLimit(ctx, limit, "fetch "+base)
	defer cancel()
	err := w.pull(limited, api, base)
	if err == nil {
		err = addNft(limited, api, base, info.Name)
	}
	if ctx.Err() != nil { // cancelled, which is not an error of the registry
		return info, context.Cause(ctx)
	}
	info.Built = err == nil
	return info, err
}

// addNft builds an image with nft from a local one.
func addNft(ctx context.Context, api client.APIClient, base, name string) error {
	var files bytes.Buffer
	t := tar.NewWriter(&files)
	if err := errors.Join(addFile(t, "Dockerfile", []byte(dockerfile(base)), 0o644), t.Close()); err != nil {
		return err
	}
	result, err := api.ImageBuild(ctx, &files, client.ImageBuildOptions{Tags: []string{name}, Remove: true, ForceRemove: true})
	if err == nil {
		err = errors.Join(readProgress(result.Body, nil), result.Body.Close())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("add nft to it: %w", context.Cause(ctx))
	default:
		return fmt.Errorf("add nft to it: %w", explain(err))
	}
}

// pull fetches an image and reports the progress.
func (w images) pull(ctx context.Context, api client.APIClient, name string) error {
	result, err := api.ImagePull(ctx, name, client.ImagePullOptions{})
	if err == nil {
		err = errors.Join(readProgress(result, w.Say), result.Close())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	default:
		return fmt.Errorf("fetch %s from its registry: %w", name, explain(err))
	}
}

func contextWithLimit(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not done after %v", what, limit))
}

// progressStep is the number of bytes between two reports.
const progressStep = 10 << 20

// readProgress reads the daemon's messages and reports the progress. Errors arrive there, too, because the
// response has already begun.
func readProgress(r io.Reader, say func(line string)) error {
	type bytes struct{ Current, Total int64 }
	layers := map[string]bytes{}
	said := int64(0)
	for d := json.NewDecoder(r); ; {
		var line struct {
			Error, Status, ID string
			ProgressDetail    bytes
		}
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the daemon's answer: %w", err)
		case line.Error != "":
			return errors.New(strings.TrimSpace(line.Error))
		}
		if line.Status != "Downloading" || say == nil {
			continue
		}
		layers[line.ID] = line.ProgressDetail
		var sum bytes
		for _, l := range layers {
			sum.Current, sum.Total = sum.Current+l.Current, sum.Total+l.Total
		}
		if sum.Current >= said+progressStep {
			said = sum.Current
			say(fmt.Sprintf("fetched %d of %d MB, of what is known so far", sum.Current>>20, sum.Total>>20))
		}
	}
}

func addFile(t *tar.Writer, name string, content []byte, mode int64) error {
	err := t.WriteHeader(&tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: mode, Size: int64(len(content)), Format: tar.FormatPAX})
	if err == nil {
		_, err = t.Write(content)
	}
	return err
}

// readable reads a file for the image.
func readable(path string) ([]byte, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a file for the image: %w", err)
	}
	return content, nil
}
