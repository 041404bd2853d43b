//go:build linux

package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/jsonmessage"

	"lockbench/deploy/images"
	"lockbench/internal/service"
	"lockbench/internal/world"
)

// fetchLimit bounds how long a run waits for a registry and a package mirror.
const fetchLimit = time.Minute

// maker finds or makes the image of one service.
type maker struct {
	*Options
	api     client.APIClient
	service *service.Service
}

// find finds or makes the image for servers: the user's; else one of this machine's programs, which needs no
// registry; else an official one with nft, from a registry.
func (m maker) find(ctx context.Context) (ImageInfo, error) {
	name := m.service.Name
	if own := m.Images[name]; own != "" {
		return m.ownImage(ctx, own)
	}
	programs, missing := findPrograms(m.service, m.Programs[name])
	base := cmp.Or(m.Bases[name], m.service.Needs.Image)
	switch {
	case missing == nil:
		return m.machineImage(ctx, programs)
	case m.Programs[name] != "":
		return ImageInfo{}, missing
	case base == "":
		return ImageInfo{}, fmt.Errorf("there is no image to start %s from: %w", name, missing)
	}
	info, err := m.registryImage(ctx, base)
	if toFetch := (*world.ToFetch)(nil); err != nil && !errors.As(err, &toFetch) {
		err = fmt.Errorf("there is no image to start servers from: %w; nor one from %s: %w", missing, base, err)
	}
	return info, err
}

// ensure makes an image that the daemon lacks.
func (m maker) ensure(ctx context.Context, info ImageInfo, make func() error) (ImageInfo, error) {
	for {
		image, err := m.api.ImageInspect(ctx, info.Name)
		if err == nil {
			info.Bytes = image.Size
			return info, nil
		}
		if !errdefs.IsNotFound(err) || info.Built {
			return info, fmt.Errorf("look at the image %s: %w", info.Name, explain(err))
		}
		if err := make(); err != nil {
			return info, err
		}
		info.Built = true
	}
}

// ownImage is the user's image.
func (m maker) ownImage(ctx context.Context, name string) (ImageInfo, error) {
	flag := fmt.Sprintf("the image of --image %s=%s", m.service.Name, name)
	return m.ensure(ctx, ImageInfo{Name: name, From: "as it is"}, func() error {
		if m.NoFetch {
			return fmt.Errorf("%s is not here: docker pull %s", flag, name)
		}
		m.Say("fetching the image " + name)
		limited, cancel := contextWithLimit(ctx, AskedLimit, "fetch the image "+name)
		defer cancel()
		if err := m.pull(limited, name); err != nil {
			return fmt.Errorf("%s is neither here nor in a registry: %w", flag, err)
		}
		return nil
	})
}

// machineImage is an image of this machine's programs. Its tag is a digest of the content.
func (m maker) machineImage(ctx context.Context, programs []string) (ImageInfo, error) {
	info := ImageInfo{From: "this machine's programs"}
	list, err := pack(ctx, "list", programs)
	if err != nil {
		return info, err
	}
	info.Name = m.tag("", string(list), images.Pack)
	return m.ensure(ctx, info, func() error {
		packed, err := pack(ctx, "tar", programs)
		if err != nil {
			return err
		}
		result, err := m.api.ImageImport(ctx, client.ImageImportSource{Source: bytes.NewReader(packed), SourceName: "-"}, info.Name,
			client.ImageImportOptions{Message: "made by lockbench", Changes: []string{
				"ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
				"LABEL lockbench.image=machine",
			}})
		return awaitImage(ctx, "import an image of this machine's programs", result, err)
	})
}

// tag returns the name of an image that we make: its tag is a digest of the content.
func (m maker) tag(prefix string, content ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(content, "\x00")))
	return fmt.Sprintf("lockbench-%s:%s%x", m.service.Name, prefix, sum[:6])
}

// registryImage is an official image with nft.
func (m maker) registryImage(ctx context.Context, base string) (ImageInfo, error) {
	info := ImageInfo{Name: m.tag("registry-", base, images.Nft), From: base + " and nft"}
	return m.ensure(ctx, info, func() error {
		if m.NoFetch {
			return &world.ToFetch{What: base}
		}
		limit := cmp.Or(m.FetchLimit, fetchLimit)
		m.Say(fmt.Sprintf("fetching %s, and adding nft to it; this is done once, and given up after %v", base, limit))
		limited, cancel := contextWithLimit(ctx, limit, "fetch "+base)
		defer cancel()
		err := m.pull(limited, base)
		if err == nil {
			err = m.addNft(limited, base, info.Name)
		}
		if ctx.Err() != nil { // cancelled, which is not an error of the registry
			return context.Cause(ctx)
		}
		return err
	})
}

// addNft builds an image with nft from a local one.
func (m maker) addNft(ctx context.Context, base, name string) error {
	folder, err := archive(map[string]string{"Dockerfile": images.Nft})
	if err != nil {
		return err
	}
	result, err := m.api.ImageBuild(ctx, folder, client.ImageBuildOptions{
		Tags: []string{name}, BuildArgs: map[string]*string{"BASE": &base}, Remove: true, ForceRemove: true,
	})
	return awaitImage(ctx, "add nft to it", result.Body, err)
}

// pull fetches an image.
func (m maker) pull(ctx context.Context, name string) error {
	result, err := m.api.ImagePull(ctx, name, client.ImagePullOptions{})
	return awaitImage(ctx, "fetch "+name+" from its registry", result, err)
}

func contextWithLimit(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not done after %v", what, limit))
}

// awaitImage reads the daemon's messages about an image to their end, unless the request has failed. Errors arrive
// there, too, because the response has already begun.
func awaitImage(ctx context.Context, what string, messages io.ReadCloser, err error) error {
	if err == nil {
		err = errors.Join(jsonmessage.DisplayStream(messages, io.Discard), messages.Close())
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return fmt.Errorf("%s: %w", what, explain(err))
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
