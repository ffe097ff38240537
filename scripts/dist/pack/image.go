package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// user is numeric, as in the Dockerfile: Kubernetes does not resolve user names, so it could not check that a named user is
// not root.
const user = 65532

// These annotations are defined by the OCI image specification. All but ref.name are also labels in the configuration of an
// image.
const (
	labelPrefix  = "org.opencontainers.image."
	versionLabel = labelPrefix + "version"
	refName      = labelPrefix + "ref.name"
)

type options struct {
	title, description, version, revision, source string
	service                                       bool   // add certificates, the address, the data folder and the command serve
	documents                                     string // folder of the licences
}

// imageCommand writes an image layout and prints the digest of the index of the images.
func imageCommand(args []string, out io.Writer) error {
	var o options
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.title, "title", "", "name of the program")
	flags.StringVar(&o.description, "description", "", "one sentence")
	flags.StringVar(&o.version, "version", "", "version of the image")
	flags.StringVar(&o.revision, "revision", "", "commit of the sources")
	flags.StringVar(&o.source, "source", "", "address of the sources")
	flags.BoolVar(&o.service, "service", false, "add certificates, the address, the data folder and the command serve")
	flags.StringVar(&o.documents, "documents", "", "folder of the licences")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() < 2 || o.title == "" || o.version == "" || o.documents == "" {
		return fmt.Errorf("image: arguments are missing; give -title, -version, -documents, the archive, and PLATFORM=PROGRAM for each platform")
	}
	created, err := sourceDate()
	if err != nil {
		return err
	}
	index, err := buildIndex(&o, flags.Args()[1:], created)
	if err != nil {
		return fmt.Errorf("build the image of %s: %w", o.title, err)
	}
	return writeLayout(flags.Arg(0), index, o.version, created, out)
}

func buildIndex(o *options, programs []string, created time.Time) (v1.ImageIndex, error) {
	base, err := o.baseLayer(created)
	if err != nil {
		return nil, err
	}
	index := v1.ImageIndex(empty.Index)
	for _, argument := range programs {
		name, program, ok := strings.Cut(argument, "=")
		system, architecture, valid := strings.Cut(name, "/")
		if !ok || !valid {
			return nil, fmt.Errorf("platform %q: use OS/ARCHITECTURE=PROGRAM", argument)
		}
		platform := v1.Platform{OS: system, Architecture: architecture}
		image, err := o.image(platform, program, base, created)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return mutate.Annotations(index, o.labels(created)).(v1.ImageIndex), nil
}

// image returns the image for a platform: the layer `base`, which all platforms share, and a layer with the program.
func (o *options) image(platform v1.Platform, program string, base v1.Layer, created time.Time) (v1.Image, error) {
	binary, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	path := "usr/local/bin/" + o.title
	top, err := layer(created, entry{name: "usr/local/bin/"}, entry{name: path, data: binary, mode: 0o755})
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.Append(image,
		mutate.Addendum{Layer: base, MediaType: types.OCILayer, History: o.history(created, "the files of all platforms")},
		mutate.Addendum{Layer: top, MediaType: types.OCILayer, History: o.history(created, "the program "+path)})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = platform.OS, platform.Architecture, v1.Time{Time: created}
	file.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/" + path}, Env: []string{"PATH=/usr/local/bin"},
		WorkingDir: "/", Labels: o.labels(created),
	}
	if o.service {
		file.Config.Cmd = []string{"serve"}
		file.Config.Env = append(file.Config.Env, "LOADAWARE_ADDR=0.0.0.0:8080")
		file.Config.ExposedPorts = map[string]struct{}{"8080/tcp": {}}
	}
	if image, err = mutate.ConfigFile(image, file); err != nil {
		return nil, err
	}
	return mutate.Annotations(image, o.labels(created)).(v1.Image), nil
}

func (o *options) history(created time.Time, content string) v1.History {
	return v1.History{Created: v1.Time{Time: created}, CreatedBy: "make dist: " + content}
}

// labels returns the annotations of an image and of its index, which are also the labels of the image.
func (o *options) labels(created time.Time) map[string]string {
	labels := map[string]string{versionLabel: o.version, labelPrefix + "created": created.Format(time.RFC3339)}
	for name, value := range map[string]string{
		"title": o.title, "description": o.description, "revision": o.revision, "source": o.source, "licenses": "Apache-2.0",
	} {
		if value != "" {
			labels[labelPrefix+name] = value
		}
	}
	return labels
}

// baseLayer returns the layer with the files that do not depend on the platform.
func (o *options) baseLayer(created time.Time) (v1.Layer, error) {
	var entries []entry
	if o.service {
		entries = []entry{
			{name: "etc/"}, {name: "etc/ssl/"}, {name: "etc/ssl/certs/"},
			{name: "etc/ssl/certs/ca-certificates.crt", data: rootCertificates(), mode: 0o644},
			{name: "var/"}, {name: "var/lib/"}, {name: "var/lib/loadaware/", owner: user},
		}
	}
	folder := "usr/share/doc/" + o.title
	entries = append(entries, entry{name: "usr/"}, entry{name: "usr/local/"}, entry{name: "usr/share/"}, entry{name: "usr/share/doc/"}, entry{name: folder + "/"})
	documents, err := os.ReadDir(o.documents) // sorted
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		data, err := os.ReadFile(path.Join(o.documents, d.Name()))
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: path.Join(folder, d.Name()), data: data, mode: 0o644})
	}
	return layer(created, entries...)
}

// rootCertificates returns the root certificates of Mozilla as PEM, except those that Mozilla distrusts from a date on,
// because PEM cannot express such a date.
func rootCertificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a write to a Buffer cannot fail
		}
	}
	return all.Bytes()
}

// entry is a file of a layer, or a folder if its name ends in a slash.
type entry struct {
	name  string
	data  []byte
	mode  int64
	owner int
}

func layer(created time.Time, entries ...entry) (v1.Layer, error) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, e := range entries {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: e.name, Size: int64(len(e.data)), Mode: e.mode, Uid: e.owner, Gid: e.owner, ModTime: created,
		}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, 0o755
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// writeLayout archives an image layout that contains only this index, and prints the digest of the index.
func writeLayout(name string, index v1.ImageIndex, version string, created time.Time, out io.Writer) error {
	folder, err := os.MkdirTemp("", "loadaware-layout-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	written, err := layout.Write(folder, empty.Index)
	if err != nil {
		return fmt.Errorf("write the image layout: %w", err)
	}
	if err := written.AppendIndex(index, layout.WithAnnotations(map[string]string{refName: version})); err != nil {
		return fmt.Errorf("write the image layout: %w", err)
	}
	if err := archive(name, folder, created); err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, digest)
	return err
}
