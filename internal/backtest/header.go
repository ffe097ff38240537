package backtest

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// featureOrder returns the feature columns of a CSV header in file order, and nothing for JSON
// Lines. whole is the file, of which only the first line is read. fields maps columns as in
// file.Layout.
func featureOrder(whole []byte, fields map[string]string) ([]string, error) {
	var plain io.Reader = bytes.NewReader(whole)
	if bytes.HasPrefix(whole, []byte("\x1f\x8b")) {
		zip, err := gzip.NewReader(plain)
		if err != nil {
			return nil, err
		}
		plain = zip
	}
	header := csv.NewReader(plain)
	header.LazyQuotes = true // JSON Lines have quotes where CSV does not allow them
	columns, err := header.Read()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var order []string
	for _, column := range columns {
		column = strings.TrimSpace(column)
		if field, ok := fields[column]; ok {
			column = field
		}
		if name, ok := strings.CutPrefix(column, "feature."); ok {
			order = append(order, name)
		}
	}
	return order, nil
}
