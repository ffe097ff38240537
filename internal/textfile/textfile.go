// Package textfile opens the text files of users.
package textfile

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
)

// byteOrderMark is what spreadsheets and Windows programs write at the start of a text in UTF-8.
const byteOrderMark = "\ufeff"

// Open returns the text in r without a byte order mark, and decompressed if r begins with the magic bytes of gzip (RFC 1952).
// The result has a buffer of at least `size` bytes.
func Open(r io.Reader, size int) (*bufio.Reader, error) {
	text := bufio.NewReaderSize(r, size)
	if magic, _ := text.Peek(2); string(magic) == "\x1f\x8b" {
		plain, err := gzip.NewReader(text)
		if err != nil {
			return nil, fmt.Errorf("decompress gzip: %w", err)
		}
		text = bufio.NewReaderSize(plain, size)
	}
	if mark, _ := text.Peek(len(byteOrderMark)); string(mark) == byteOrderMark {
		_, _ = text.Discard(len(mark)) // cannot fail: the bytes are in the buffer
	}
	return text, nil
}

// TrimMark returns the text of a small file without a byte order mark.
func TrimMark(text []byte) string { return strings.TrimPrefix(string(text), byteOrderMark) }
