package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// unpack checks every digest of a layout, extracts the image of one platform, and prints how a container engine would run
// it, and its version.
func unpack(name, platform, folder string, out io.Writer) error {
	temporary, err := os.MkdirTemp("", "loadaware-layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := extract(file, temporary); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	image, err := findImage(temporary, platform)
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	root := mutate.Extract(image)
	defer root.Close()
	if err := extract(root, folder); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	c := config.Config
	_, err = fmt.Fprintf(out, "user %s\ncommand %s\nenvironment %s\nversion %s\n",
		c.User, strings.Join(append(c.Entrypoint, c.Cmd...), " "), strings.Join(c.Env, " "), c.Labels[versionLabel])
	return err
}

// findImage checks the whole layout, and returns its image for a platform.
func findImage(folder, platform string) (v1.Image, error) {
	if err := checkBlobs(filepath.Join(folder, "blobs", "sha256")); err != nil {
		return nil, err
	}
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, err
	}
	if err := validate.Index(top); err != nil {
		return nil, err
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("the layout has %d indexes; one is expected", len(manifest.Manifests))
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		return nil, err
	}
	if manifest, err = index.IndexManifest(); err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		if m.Platform != nil && m.Platform.String() == platform {
			return index.Image(m.Digest)
		}
	}
	return nil, fmt.Errorf("no image for %s", platform)
}

// checkBlobs checks that the name of each blob is its SHA-256: validate.Index does not check the names of manifests.
func checkBlobs(folder string) error {
	blobs, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, blob := range blobs {
		file, err := os.Open(filepath.Join(folder, blob.Name()))
		if err != nil {
			return err
		}
		hash, _, err := v1.SHA256(file)
		file.Close()
		if err != nil {
			return err
		}
		if hash.Hex != blob.Name() {
			return fmt.Errorf("blob %s has the hash %s; copy the layout again", blob.Name(), hash.Hex)
		}
	}
	return nil
}

// extract extracts a tar archive into a folder. It rejects names outside the folder by os.Root.
func extract(from io.Reader, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for r := tar.NewReader(from); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := extractEntry(root, header, r); err != nil {
			return err
		}
	}
}

// extractEntry extracts one entry of an archive. It sets the owner if this process runs as root.
func extractEntry(root *os.Root, header *tar.Header, data io.Reader) error {
	name := filepath.Clean(filepath.FromSlash(header.Name))
	switch header.Typeflag {
	case tar.TypeDir:
		if err := root.MkdirAll(name, 0o755); err != nil {
			return err
		}
	case tar.TypeReg:
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		file, err := root.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, header.FileInfo().Mode())
		if err != nil {
			return err
		}
		defer file.Close()
		if _, err := io.Copy(file, data); err != nil {
			return err
		}
		if err := file.Close(); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s has type %q; only files and folders are expected", header.Name, header.Typeflag)
	}
	if os.Geteuid() != 0 {
		return nil
	}
	return root.Lchown(name, header.Uid, header.Gid)
}
