// Command compress writes a gzip copy of a file. The server embeds the copy instead of the file, so that the
// container image stays small. Equal files give equal copies.
//
//	go run ./compress ../openapi.yaml openapi.gen.yaml.gz   # by go generate ./api
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: compress FILE COPY.GZ")
		os.Exit(2)
	}
	if err := compress(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "compress:", err)
		os.Exit(1)
	}
}

func compress(file, copyFile string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // the header has no name and no time
	if err != nil {
		return err
	}
	if _, err := w.Write(text); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(copyFile, out.Bytes(), 0o644)
}
