//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
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
	imageLabel = "lockbench.image"
	// pullLimit and buildLimit bound a registry and a package mirror. Both can hang.
	pullLimit  = time.Minute
	buildLimit = 5 * time.Minute
)

// images finds and makes the images of one service.
type images struct {
	*Options
	service service.Service
}

func (w *World) images(s service.Service) images { return images{&w.options, s} }

// own is the image of the person's own, and program what the nodes of a built one run.
func (w images) own() string     { return w.Images[w.service.Name()] }
func (w images) program() string { return w.Programs[w.service.Name()] }

// words stand before the arguments of the service's program, but of the person's own.
func (w images) words() []string {
	first := w.service.Needs().Programs[0]
	if filepath.Base(cmp.Or(w.program(), first.Name)) != first.Name {
		return nil
	}
	return first.Words
}

// repository is the name of the images that we make; their tags are made from what is in
// them, so that a tag never means something else.
func (w images) repository() string { return "lockbench-" + w.service.Name() }

// registryBase is what is built on where this machine lacks the programs of the service.
func (w images) registryBase() string { return w.service.Needs().Image }

// dockerfile makes of an official image one that has nft as well.
func dockerfile(base string) string {
	return `FROM ` + base + `
LABEL ` + imageLabel + `=registry
RUN apt-get update && apt-get install -y --no-install-recommends nftables && rm -rf /var/lib/apt/lists/*
`
}

// find finds the image to start servers from, and makes it if need be: the
// person's own; else one of this machine's programs, which needs no registry; else
// an official one with nft added, where a registry answers.
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
	if info, ok := w.earlierImage(ctx, api); ok {
		return info, nil
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
			return info, fmt.Errorf("the image %s of --%s-image is not here: docker pull %s", info.Name, w.service.Name(), info.Name)
		}
		w.Say("fetching the image " + info.Name)
		if err := pull(ctx, api, info.Name); err != nil {
			return info, fmt.Errorf("the image %s of --%s-image is neither here nor to be had: %w", info.Name, w.service.Name(), err)
		}
		info.Built = true
		found, err = api.ImageInspect(ctx, info.Name)
	}
	if err != nil {
		return info, fmt.Errorf("look at the image %s of --%s-image: %w", info.Name, w.service.Name(), explain(err))
	}
	info.Bytes = found.Size
	return info, nil
}

// machineImage is an image of this machine's own programs.
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
	found, err := api.ImageInspect(ctx, info.Name)
	if err == nil {
		info.Bytes = found.Size
		return info, nil
	}
	if !errdefs.IsNotFound(err) {
		return info, explain(err)
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
		err = errors.Join(readProgress(result), result.Close())
	}
	if err != nil {
		return info, fmt.Errorf("import an image of this machine's programs: %w", explain(err))
	}
	info.Built, info.Bytes = true, int64(len(packed))
	return info, nil
}

// earlierImage is the newest of the images that were made here before, for a machine that
// has lost the programs since.
func (w images) earlierImage(ctx context.Context, api client.APIClient) (info ImageInfo, ok bool) {
	found, err := api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", imageLabel)})
	if err != nil {
		return info, false
	}
	newest := int64(0)
	for _, image := range found.Items {
		for _, tag := range image.RepoTags {
			if strings.HasPrefix(tag, w.repository()+":") && image.Created >= newest {
				newest, ok = image.Created, true
				info = ImageInfo{Name: tag, From: "what was installed when it was made", Bytes: image.Size}
			}
		}
	}
	return info, ok
}

// registryImage is an official image with nft.
func (w images) registryImage(ctx context.Context, api client.APIClient) (ImageInfo, error) {
	info := ImageInfo{Name: w.repository() + ":registry-1", From: w.registryBase() + " and nft"}
	if !w.Again {
		if err := refused(w.registryBase(), time.Now()); err != nil {
			return info, err
		}
	}
	if w.NoFetch {
		return info, &world.ToFetch{What: w.registryBase()}
	}
	w.Say("fetching " + w.registryBase() + ", and adding nft to it; this is done once")
	err := pull(ctx, api, w.registryBase())
	if remember(w.registryBase(), err); err != nil {
		return info, err
	}
	var context bytes.Buffer
	t := tar.NewWriter(&context)
	if err := errors.Join(addFile(t, "Dockerfile", []byte(dockerfile(w.registryBase())), 0o644), t.Close()); err != nil {
		return info, err
	}
	limited, cancel := contextWithLimit(ctx, buildLimit, "build an image")
	defer cancel()
	result, err := api.ImageBuild(limited, &context, client.ImageBuildOptions{Tags: []string{info.Name}, Remove: true, ForceRemove: true})
	if err == nil {
		err = errors.Join(readProgress(result.Body), result.Body.Close())
	}
	if err != nil {
		return info, fmt.Errorf("add nft to it: %w", explain(err))
	}
	info.Built = true
	return info, nil
}

// olderImages are those of ours of services that this run has others of.
func olderImages(ctx context.Context, api client.APIClient, current map[string]ImageInfo) []string {
	var older []string
	found, err := api.ImageList(ctx, client.ImageListOptions{Filters: client.Filters{}.Add("label", imageLabel)})
	if err != nil {
		return nil
	}
	for _, image := range found.Items {
		for _, tag := range image.RepoTags {
			repository, _, _ := strings.Cut(tag, ":")
			if now, ok := current[strings.TrimPrefix(repository, "lockbench-")]; ok && now.Name != tag {
				older = append(older, tag)
			}
		}
	}
	return older
}

// pull fetches an image, within a limit: a registry that does not answer can keep a
// client waiting for a quarter of an hour.
func pull(ctx context.Context, api client.APIClient, name string) error {
	ctx, cancel := contextWithLimit(ctx, pullLimit, "fetch "+name)
	defer cancel()
	result, err := api.ImagePull(ctx, name, client.ImagePullOptions{})
	if err == nil {
		err = errors.Join(readProgress(result), result.Close())
	}
	if err != nil {
		return fmt.Errorf("fetch %s from its registry: %w", name, explain(err))
	}
	return nil
}

func contextWithLimit(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not done after %v", what, limit))
}

// readProgress reads what a daemon tells while it works. Errors come in there too:
// the answer has begun long before.
func readProgress(r io.Reader) error {
	for d := json.NewDecoder(r); ; {
		var line struct {
			Error string `json:"error"`
		}
		switch err := d.Decode(&line); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read the daemon's answer: %w", err)
		case line.Error != "":
			return errors.New(strings.TrimSpace(line.Error))
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
