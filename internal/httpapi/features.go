package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// features reads the features of a body, whose syntax is known to be good. Nil
// where none were sent: those of the prediction, if there was one.
func (f *form) features(raw []byte) sizing.Features {
	if features, plain := quickFeatures(raw); plain {
		return features
	}
	return f.slowFeatures(raw)
}

// slowFeatures reads those that are not plain, and says what is wrong with them.
// Written by hand, since most of a question's bytes are features: half the time of
// json.Unmarshal.
func (f *form) slowFeatures(raw []byte) sizing.Features {
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)) // none are left
	switch dec.PeekKind() {
	case '{':
		_, _ = dec.ReadToken()
	case 0, 'n':
		return nil
	default:
		f.add("features", "must be an object of numbers, strings, bools and nulls")
		return nil
	}
	features := make(sizing.Features, min(bytes.Count(raw, []byte(":")), sizing.MaxFeatures))
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		name := token.String()
		if features[name], err = featureValue(dec); err != nil {
			f.add(api.FieldName(jsontext.Pointer("/features").AppendToken(name)), "%s", err)
			break
		}
	}
	return features
}

// featureValue reads one value.
func featureValue(dec *jsontext.Decoder) (sizing.Value, error) {
	kind := dec.PeekKind()
	if kind == '{' || kind == '[' {
		return sizing.Value{}, errors.New("must be a number, a string, a bool or null")
	}
	token, err := dec.ReadToken()
	if err != nil {
		return sizing.Value{}, err
	}
	switch kind {
	case '0':
		v, err := token.Float()
		if err != nil {
			return sizing.Value{}, errTooLarge
		}
		return sizing.NumberValue(v), nil
	case '"':
		return sizing.TextValue(token.String()), nil
	case 't', 'f':
		return sizing.BoolValue(token.Bool()), nil
	}
	return sizing.Value{}, nil
}

var errTooLarge = errors.New("is too large a number")

// reserved are the query parameters of GET /predict that are no features.
var reserved = map[string]bool{
	"namespace": true, "dag_id": true, "task_id": true, "run_id": true, "map_index": true,
	"try_number": true, "memory": true, "cpu": true, "max_memory": true,
}

// queryFeatures reads every parameter that is not reserved as a feature.
func (f *form) queryFeatures(query url.Values) sizing.Features {
	features := make(sizing.Features, len(query))
	for name, values := range query {
		if len(values) > 1 {
			f.add(name, "is given %d times", len(values))
		}
		if reserved[name] {
			continue
		}
		v, err := queryValue(values[0])
		if err != nil {
			f.add("features."+name, "%s", err)
		}
		features[name] = v
	}
	return features
}

// queryValue guesses what a value was meant to be: nothing, "a category in
// quotes", a bool, a number, a date, or else a category.
func queryValue(text string) (sizing.Value, error) {
	quoted := strings.TrimPrefix(text, `"`)
	switch {
	case text == "":
		return sizing.Value{}, nil
	case len(quoted) < len(text) && strings.HasSuffix(quoted, `"`):
		return sizing.Value{Kind: sizing.Category, Text: strings.TrimSuffix(quoted, `"`)}, nil
	case text == "true" || text == "false":
		return sizing.BoolValue(text == "true"), nil
	case jsontext.Value(text).IsValid() && jsontext.Value(text).Kind() == '0':
		v, err := strconv.ParseFloat(strings.TrimSpace(text), 64) // JSON allows space around a value
		if err != nil {
			return sizing.Value{}, errTooLarge
		}
		return sizing.NumberValue(v), nil
	}
	return sizing.TextValue(text), nil
}

// parseQuery reads a raw query strictly: what net/http would drop is named.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &failure{class: malformed, detail: fmt.Sprintf("the query cannot be read: %v. Percent-encode &, ;, + and %%", err)}
	}
	return values, nil
}
