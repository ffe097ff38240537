package backtest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"io"
	"strings"
)

// featureOrder is the features of a CSV's header, in its order; none of JSONL,
// which has no order. It looks at the first line only.
func featureOrder(whole []byte) ([]string, error) {
	var plain io.Reader = bytes.NewReader(whole)
	if bytes.HasPrefix(whole, []byte("\x1f\x8b")) {
		zip, err := gzip.NewReader(plain)
		if err != nil {
			return nil, err
		}
		plain = zip
	}
	buffered := bufio.NewReader(plain)
	if first, _ := buffered.Peek(1); string(first) == "{" {
		return nil, nil
	}
	columns, err := csv.NewReader(buffered).Read()
	if err != nil {
		return nil, err
	}
	var order []string
	for _, column := range columns {
		if name, ok := strings.CutPrefix(column, "feature."); ok {
			order = append(order, name)
		}
	}
	return order, nil
}
