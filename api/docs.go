package api

import (
	"bytes"
	"compress/gzip"
	_ "embed" // for the page, openapi.yaml and the style
	"fmt"
	"io"
	"sync"
)

//go:embed docs.gen.html.gz
var compressedPage []byte

//go:embed openapi.gen.yaml.gz
var compressedSpec []byte

// DocsPage returns openapi.yaml as an HTML page. The only style of the page is DocsStyle. The first call
// decompresses the page.
var DocsPage = sync.OnceValues(func() ([]byte, error) { return decompress(compressedPage) })

// OpenAPI returns the text of openapi.yaml. The first call decompresses the text.
var OpenAPI = sync.OnceValues(func() ([]byte, error) { return decompress(compressedSpec) })

// DocsStyle is the style sheet in DocsPage.
//
//go:embed docspage/docs.css
var DocsStyle string

func decompress(compressed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return nil, fmt.Errorf("decompress an embedded document: %w; run make gen", err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("decompress an embedded document: %w; run make gen", err)
	}
	return text, nil
}
