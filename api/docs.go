package api

import _ "embed" // for the page

// DocsPage is openapi.yaml as an HTML page, whose only style is DocsStyle.
//
//go:embed docs.gen.html
var DocsPage []byte

// DocsStyle is the style sheet in DocsPage.
//
//go:embed docspage/docs.css
var DocsStyle string
