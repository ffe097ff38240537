// Command compress writes a compressed copy of a file, which the server embeds instead of the file
// to keep the container image small. The same file gives the same copy.
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

// compress writes a compressed copy of a file.
func compress(file, copyFile string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression) // without name and time
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
