package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var created = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func write(t *testing.T, name, text string, mode os.FileMode, modified time.Time) {
	t.Helper()
	noError(t, os.MkdirAll(filepath.Dir(name), 0o700))
	noError(t, os.WriteFile(name, []byte(text), 0o600))
	noError(t, os.Chmod(name, mode))
	noError(t, os.Chtimes(name, modified, modified))
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	noError(t, err)
	return string(text)
}

func TestArchivesOfEqualFilesHaveEqualBytes(t *testing.T) {
	work := t.TempDir()
	for clone, modes := range map[string][2]os.FileMode{"one": {0o755, 0o644}, "two": {0o700, 0o600}} {
		folder := filepath.Join(work, clone, "loadaware-1.0.0")
		write(t, filepath.Join(folder, "loadaware"), "program", modes[0], time.Now().Add(-time.Hour))
		write(t, filepath.Join(folder, "docs", "page.md"), "text", modes[1], time.Now())
		for _, kind := range []string{".tar.gz", ".tar"} {
			noError(t, archive(filepath.Join(work, clone+kind), folder, created))
		}
	}
	for _, kind := range []string{".tar.gz", ".tar"} {
		if read(t, filepath.Join(work, "one"+kind)) != read(t, filepath.Join(work, "two"+kind)) {
			t.Errorf("%s: the bytes differ", kind)
		}
	}
	zipped, err := gzip.NewReader(strings.NewReader(read(t, filepath.Join(work, "one.tar.gz"))))
	noError(t, err)
	var names []string
	for r := tar.NewReader(zipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		noError(t, err)
		names = append(names, header.Name)
		if !header.ModTime.Equal(created) || header.Uid != 0 {
			t.Errorf("%s: time %v, want %v; owner %d, want 0", header.Name, header.ModTime, created, header.Uid)
		}
		if isProgram := strings.HasSuffix(header.Name, "/loadaware"); isProgram != (header.Mode == 0o755) && header.Typeflag == tar.TypeReg {
			t.Errorf("%s: mode %o", header.Name, header.Mode)
		}
	}
	want := "loadaware-1.0.0/ loadaware-1.0.0/docs/ loadaware-1.0.0/docs/page.md loadaware-1.0.0/loadaware"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names: %s, want %s", got, want)
	}
}

func TestArchivesRejectLinks(t *testing.T) {
	work := t.TempDir()
	noError(t, os.Symlink("/etc/passwd", filepath.Join(work, "link")))
	if err := archive(filepath.Join(t.TempDir(), "out.tar.gz"), work, created); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("archive a link: error %v, want \"neither a file nor a folder\"", err)
	}
}

func buildImage(t *testing.T, program string) (layout, digest string) {
	t.Helper()
	t.Setenv("SOURCE_DATE_EPOCH", "1800000000")
	work := t.TempDir()
	write(t, filepath.Join(work, "amd64"), program, 0o755, time.Now())
	write(t, filepath.Join(work, "arm64"), program+" for arm64", 0o755, time.Now())
	write(t, filepath.Join(work, "documents", "LICENSE"), "licence", 0o644, time.Now())
	layout = filepath.Join(work, "image.tar")
	var out bytes.Buffer
	noError(t, imageCommand([]string{
		"-title", "loadaware", "-version", "1.0.0", "-revision", "0123", "-service", "-documents", filepath.Join(work, "documents"), layout,
		"linux/amd64=" + filepath.Join(work, "amd64"), "linux/arm64=" + filepath.Join(work, "arm64"),
	}, &out))
	return layout, strings.TrimSpace(out.String())
}

func TestAnImageNeedsItsDocuments(t *testing.T) {
	err := imageCommand([]string{"-title", "loadaware", "-version", "1.0.0", "image.tar", "linux/amd64=program"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "arguments are missing") {
		t.Errorf("error %v, want \"arguments are missing\"", err)
	}
}

func TestImagesOfEqualProgramsHaveEqualBytes(t *testing.T) {
	first, digest := buildImage(t, "program")
	second, again := buildImage(t, "program")
	if read(t, first) != read(t, second) || digest != again || !strings.HasPrefix(digest, "sha256:") {
		t.Errorf("the layouts differ, or a digest is not a SHA-256: %s, %s", digest, again)
	}
	if _, other := buildImage(t, "another program"); other == digest {
		t.Error("another program has the same digest")
	}
}

func TestUnpackWritesTheRootOfAnImage(t *testing.T) {
	layout, _ := buildImage(t, "program")
	for platform, program := range map[string]string{"linux/amd64": "program", "linux/arm64": "program for arm64"} {
		root := t.TempDir()
		var config bytes.Buffer
		noError(t, unpack(layout, platform, root, &config))
		if got := read(t, filepath.Join(root, "usr/local/bin/loadaware")); got != program {
			t.Errorf("%s: the program is %q, want %q", platform, got, program)
		}
		if got := strings.Count(read(t, filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")), "BEGIN CERTIFICATE"); got < 80 {
			t.Errorf("%d root certificates, want at least 80", got)
		}
		if got := read(t, filepath.Join(root, "usr/share/doc/loadaware/LICENSE")); got != "licence" {
			t.Errorf("the licence is %q, want \"licence\"", got)
		}
		want := "user 65532:65532\ncommand /usr/local/bin/loadaware serve\nenvironment PATH=/usr/local/bin LOADAWARE_ADDR=0.0.0.0:8080\nversion 1.0.0\n"
		if config.String() != want {
			t.Errorf("configuration:\n%swant:\n%s", config.String(), want)
		}
	}
	if err := unpack(layout, "linux/riscv64", t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "no image for linux/riscv64") {
		t.Errorf("unpack a missing platform: error %v, want \"no image for linux/riscv64\"", err)
	}
}

func TestUnpackRejectsADamagedLayout(t *testing.T) {
	layout, _ := buildImage(t, "program")
	text := []byte(read(t, layout))
	at := bytes.Index(text, []byte(`"org.opencontainers.image.revision":"0123"`))
	if at < 0 {
		t.Fatal("the layout has no revision")
	}
	text[at+len(`"org.opencontainers.image.revision":"`)] = '9'
	noError(t, os.WriteFile(layout, text, 0o600))
	if err := unpack(layout, "linux/amd64", t.TempDir(), io.Discard); err == nil || !strings.Contains(err.Error(), "has the hash") {
		t.Errorf("unpack a changed manifest: error %v, want \"has the hash\"", err)
	}
}

func TestExtractRejectsNamesOutsideTheFolder(t *testing.T) {
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	noError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "../outside", Size: 1, Mode: 0o644}))
	_, err := w.Write([]byte("x"))
	noError(t, err)
	noError(t, w.Close())
	folder := filepath.Join(t.TempDir(), "root")
	noError(t, os.Mkdir(folder, 0o755))
	if err := extract(&packed, folder); err == nil {
		t.Error("a name outside of the folder is accepted")
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(folder), "outside")); err == nil {
		t.Error("a file was written outside of the folder")
	}
}

func TestNoticesNameGoAndTheModulesOfTheProgram(t *testing.T) {
	self, err := os.Executable()
	noError(t, err)
	var out bytes.Buffer
	noError(t, notices(&out, []string{self}))
	for _, words := range []string{"the Go standard library: LICENSE", "github.com/google/go-containerregistry v", "Apache License", "golang.org/x/crypto/x509roots/fallback v"} {
		if !strings.Contains(out.String(), words) {
			t.Errorf("%q is missing", words)
		}
	}
	var names bytes.Buffer
	noError(t, listModules(&names, []string{self}))
	if !strings.Contains(names.String(), "github.com/google/go-containerregistry\ngithub.com/") {
		t.Errorf("modules:\n%s", names.String())
	}
	if err := printNotices(io.Discard, "a module", t.TempDir()); err == nil {
		t.Error("a module without a licence is accepted")
	}
}

func TestSumsCoverAllFilesExceptTheChecksumFile(t *testing.T) {
	work := t.TempDir()
	write(t, filepath.Join(work, "b"), "b", 0o644, created)
	write(t, filepath.Join(work, "a", "c"), "", 0o644, created)
	write(t, filepath.Join(work, "SHA256SUMS"), "old", 0o644, created)
	var out bytes.Buffer
	noError(t, sums(&out, work))
	want := "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a/c\n" +
		"3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b\n"
	if out.String() != want {
		t.Errorf("checksums:\n%swant:\n%s", out.String(), want)
	}
}

func TestSourceDateMustBeANumber(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if _, err := sourceDate(); err == nil {
		t.Error("a text that is not a number is accepted")
	}
}
