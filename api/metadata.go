package api

import (
	"bytes"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// ReadMetadata reads metadata; the caller has checked that `raw` is valid JSON. A number or boolean becomes its text, and
// null is ignored. The result `invalid` lists the names, except "", whose values are neither scalars nor lists of scalars;
// it is [""] if `raw` is not an object. ReadMetadata returns nil for null and for missing metadata.
func ReadMetadata(raw []byte) (metadata map[string][]string, invalid []string) {
	if len(raw) == 0 {
		return nil, nil // without the cost of a decoder
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)) // the caller rejects duplicates
	switch dec.PeekKind() {
	case '{':
		_, _ = dec.ReadToken()
	case 0, 'n':
		return nil, nil
	default:
		return nil, []string{""}
	}
	metadata = map[string][]string{}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		values, ok := readTexts(dec)
		switch {
		case !ok && name != "":
			invalid = append(invalid, name)
		case !ok: // in invalid, "" would mean that raw is not an object
		case len(values) > 0:
			metadata[name] = values
		}
	}
	return metadata, invalid
}

// readTexts reads a scalar or a list of scalars. It ignores null. It skips any other value and
// returns false.
func readTexts(dec *jsontext.Decoder) (texts []string, ok bool) {
	if dec.PeekKind() != '[' {
		return appendText(dec, nil)
	}
	_, _ = dec.ReadToken()
	ok = true
	for kind := dec.PeekKind(); kind != ']' && kind != 0; kind = dec.PeekKind() {
		var isText bool
		if texts, isText = appendText(dec, texts); !isText {
			ok = false
		}
	}
	_, err := dec.ReadToken()
	return texts, ok && err == nil
}

func appendText(dec *jsontext.Decoder, texts []string) ([]string, bool) {
	switch dec.PeekKind() {
	case '{', '[', 0:
		_ = dec.SkipValue()
		return texts, false
	case 'n':
		return texts, dec.SkipValue() == nil
	}
	token, err := dec.ReadToken()
	return append(texts, token.String()), err == nil
}

// UsageValues returns the fields of u in the order of openapi.yaml; nil if u is nil. A field that
// was not reported is NaN.
func UsageValues(u *Usage) []float64 {
	if u == nil {
		return nil
	}
	fields := []*float64{u.MemoryMeanBytes, u.CPUMeanCores, u.ReadBytes, u.WrittenBytes, u.GPUMemoryMaxBytes, u.GPUUtilisationMean}
	values := make([]float64, len(fields))
	for i, v := range fields {
		if values[i] = math.NaN(); v != nil {
			values[i] = *v
		}
	}
	return values
}
