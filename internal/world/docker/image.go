//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/jsonmessage"

	"lockbench/deploy/images"
	"lockbench/internal/world"
	"lockbench/service"
)

const (
	// imageLabel marks the images that lockbench made, so that users can remove them.
	imageLabel = "lockbench.image"
	// fetchLimit bounds how long a run waits for a registry and a package mirror.
	fetchLimit = time.Minute
)

// maker finds or builds the image of one service.
type maker struct {
	*Options
	service service.Service
}

func (w *World) maker(s service.Service) maker { return maker{&w.options, s} }

// own is the user's image, and program the program of the nodes of a built one.
func (w maker) own() string     { return w.Images[w.service.Name()] }
func (w maker) program() string { return w.Programs[w.service.Name()] }

// words are inserted before the arguments of the service's program, except the user's own.
func (w maker) words() []string {
	first := w.service.Needs().Programs[0]
	if filepath.Base(cmp.Or(w.program(), first.Name)) != first.Name {
		return nil
	}
	return first.Words
}

// repository is the name of the images that we build. A tag is a digest of the content.
func (w maker) repository() string { return "lockbench-" + w.service.Name() }

// registryBase is the base image if this machine lacks the programs of the service.
func (w maker) registryBase() string {
	return cmp.Or(w.Bases[w.service.Name()], w.service.Needs().Image)
}

// find finds or builds the image for servers: the user's; else one of this machine's programs, which needs no
// registry; else an official one with nft, from a registry.
func (w maker) find(ctx context.Context, api client.APIClient) (ImageInfo, error) {
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

func (w maker) ownImage(ctx context.Context, api client.APIClient) (ImageInfo, error) {
	info := ImageInfo{Name: w.own(), From: "as it is"}
	if found, err := info.inspect(ctx, api); found || err != nil {
		return info, err
	}
	if w.NoFetch {
		return info, fmt.Errorf("the image of --image %s=%s is not here: docker pull %s", w.service.Name(), info.Name, info.Name)
	}
	w.Say("fetching the image " + info.Name)
	limited, cancel := contextWithLimit(ctx, AskedLimit, "fetch the image "+info.Name)
	defer cancel()
	err := pull(limited, api, info.Name)
	if err == nil {
		info.Built, err = info.inspect(ctx, api)
	}
	if err != nil {
		return info, fmt.Errorf("the image of --image %s=%s is neither here nor in a registry: %w", w.service.Name(), info.Name, err)
	}
	return info, nil
}

// inspect reports whether the daemon has the image, and notes its size.
func (i *ImageInfo) inspect(ctx context.Context, api client.APIClient) (found bool, err error) {
	image, err := api.ImageInspect(ctx, i.Name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at the image %s: %w", i.Name, explain(err))
	}
	i.Bytes = image.Size
	return true, nil
}

// machineImage is an image of this machine's programs. Its tag is a digest of the content.
func (w maker) machineImage(ctx context.Context, api client.APIClient, programs []string) (ImageInfo, error) {
	info := ImageInfo{From: "this machine's programs"}
	list, err := pack(ctx, "list", programs)
	if err != nil {
		return info, err
	}
	info.Name = w.repository() + ":" + digest(string(list), images.Pack)
	if found, err := info.inspect(ctx, api); found || err != nil {
		return info, err
	}
	packed, err := pack(ctx, "tar", programs)
	if err != nil {
		return info, err
	}
	result, err := api.ImageImport(ctx, client.ImageImportSource{Source: bytes.NewReader(packed), SourceName: "-"}, info.Name,
		client.ImageImportOptions{Message: "made by lockbench", Changes: []string{
			"ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"LABEL " + imageLabel + "=machine",
		}})
	if err == nil {
		err = awaitImage(result)
	}
	if err != nil {
		return info, fmt.Errorf("import an image of this machine's programs: %w", explain(err))
	}
	info.Built, info.Bytes = true, int64(len(packed))
	return info, nil
}

// digest returns the beginning of a digest, for a tag.
func digest(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:6])
}

// registryImage is an official image with nft.
func (w maker) registryImage(ctx context.Context, api client.APIClient) (ImageInfo, error) {
	base := w.registryBase()
	info := ImageInfo{Name: w.repository() + ":registry-" + digest(base, images.Nft), From: base + " and nft"}
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
	err := pull(limited, api, base)
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
	folder, err := archive(map[string]string{"Dockerfile": images.Nft})
	if err != nil {
		return err
	}
	result, err := api.ImageBuild(ctx, folder, client.ImageBuildOptions{
		Tags: []string{name}, BuildArgs: map[string]*string{"BASE": &base}, Remove: true, ForceRemove: true,
	})
	if err == nil {
		err = awaitImage(result.Body)
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

// pull fetches an image.
func pull(ctx context.Context, api client.APIClient, name string) error {
	result, err := api.ImagePull(ctx, name, client.ImagePullOptions{})
	if err == nil {
		err = awaitImage(result)
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

// awaitImage reads the daemon's messages to their end. Errors arrive there, too, because the response has already
// begun.
func awaitImage(messages io.ReadCloser) error {
	return errors.Join(jsonmessage.DisplayStream(messages, io.Discard), messages.Close())
}

// archive returns files of a container or of an image as a tar.
func archive(files map[string]string) (io.Reader, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	var err error
	for name, text := range files {
		header := &tar.Header{Name: strings.TrimPrefix(name, "/"), Mode: 0o644, Size: int64(len(text)), Format: tar.FormatPAX}
		err = errors.Join(err, t.WriteHeader(header))
		if err == nil {
			_, err = io.WriteString(t, text)
		}
	}
	return &b, errors.Join(err, t.Close())
}
