package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// archive writes a folder into a new archive. A compressed archive contains the folder itself; a .tar contains only what is
// in the folder, as tools expect for an image layout.
func archive(out, folder string, created time.Time) error {
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	if strings.HasSuffix(out, ".tar") {
		if err := writeTar(file, folder, "", created); err != nil {
			return fmt.Errorf("archive %s: %w", folder, err)
		}
		return file.Close()
	}
	zipped, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := writeTar(zipped, folder, filepath.Base(folder), created); err != nil {
		return fmt.Errorf("archive %s: %w", folder, err)
	}
	if err := zipped.Close(); err != nil {
		return err
	}
	return file.Close()
}

// writeTar writes a folder as a tar archive, sorted by name. Owner, time and modes do not depend on the machine. The names in
// the archive begin with `prefix`.
func writeTar(to io.Writer, folder, prefix string, created time.Time) error {
	w := tar.NewWriter(to)
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		inside = path.Join(prefix, filepath.ToSlash(inside))
		if inside == "." {
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case info.IsDir():
			return w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: inside + "/", Mode: 0o755, ModTime: created})
		case info.Mode().IsRegular():
			return writeFile(w, name, inside, info, created)
		}
		return fmt.Errorf("%s is neither a file nor a folder; remove it", name)
	})
	if err != nil {
		return err
	}
	return w.Close()
}

// writeFile adds a file to the archive. Its path on disk is `name`, and its path in the archive is `inside`. The mode in the
// archive is 0755 for an executable file, otherwise 0644.
func writeFile(w *tar.Writer, name, inside string, info fs.FileInfo, created time.Time) error {
	mode := int64(0o644)
	if info.Mode()&0o111 != 0 {
		mode = 0o755
	}
	header := &tar.Header{Typeflag: tar.TypeReg, Name: inside, Size: info.Size(), Mode: mode, ModTime: created}
	if err := w.WriteHeader(header); err != nil {
		return err
	}
	from, err := os.Open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	_, err = io.Copy(w, from)
	return err
}

func sums(out io.Writer, folder string) error {
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == "SHA256SUMS" {
			return err
		}
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		defer file.Close()
		hash := sha256.New()
		if _, err := io.Copy(hash, file); err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, name)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%x  %s\n", hash.Sum(nil), filepath.ToSlash(inside))
		return err
	})
}
