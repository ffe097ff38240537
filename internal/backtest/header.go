package backtest

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"io"
	"strings"
)

// featureOrder returns the names of the features in the header of a CSV, in the order of their columns. For JSON Lines
// it returns no names. `whole` is the content of the file; featureOrder reads only its first line. `fields` maps columns
// as in file.Layout.
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
