package codec

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// ReadFeatures reads the features of a body whose syntax was checked before. It returns nil
// for null and for a missing object. The field error is nil if all features are valid.
func ReadFeatures(raw []byte) (sizing.Features, *sizing.FieldError) {
	if features, ok := readCommonFeatures(raw); ok {
		return features, nil
	}
	return readAnyFeatures(raw)
}

// readCommonFeatures reads features in the common form (see the package comment). It returns false for any
// other form.
func readCommonFeatures(raw []byte) (sizing.Features, bool) {
	s := scanner{data: raw}
	if s.atEnd() {
		return nil, false
	}
	features := make(sizing.Features, min(bytes.Count(raw, []byte(":")), sizing.MaxFeatures))
	ok := s.object(func(name []byte) bool {
		v, ok := s.feature()
		if ok {
			features[string(name)] = v
		}
		return ok
	})
	return features, ok && s.atEnd()
}

// readAnyFeatures reads features in any form, token by token, because json.Unmarshal into a map is slower.
func readAnyFeatures(raw []byte) (sizing.Features, *sizing.FieldError) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)) // the caller rejects duplicates
	switch dec.PeekKind() {
	case '{':
		_, _ = dec.ReadToken()
	case 0, 'n':
		return nil, nil
	default:
		return nil, &sizing.FieldError{Field: "features", Detail: "must be an object of numbers, strings, booleans and nulls"}
	}
	features := make(sizing.Features, min(bytes.Count(raw, []byte(":")), sizing.MaxFeatures))
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		if features[name], err = readValue(dec); err != nil {
			return features, &sizing.FieldError{Field: api.FieldName(jsontext.Pointer("/features").AppendToken(name)), Detail: err.Error()}
		}
	}
	return features, nil
}

func readValue(dec *jsontext.Decoder) (sizing.Value, error) {
	kind := dec.PeekKind()
	if kind == '{' || kind == '[' {
		return sizing.Value{}, errors.New("must be a number, a string, a boolean or null")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return sizing.Value{}, err
	}
	switch kind {
	case '0':
		v, ok := sizing.ParseNumber(token.String())
		if !ok {
			return sizing.Value{}, errors.New("is too large a number")
		}
		return v, nil
	case '"':
		return sizing.TextValue(token.String()), nil
	case 't', 'f':
		return sizing.BoolValue(token.Bool()), nil
	}
	return sizing.Value{}, nil
}
