package httpapi

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/loadaware/loadaware/internal/httpapi/codec"
	"github.com/loadaware/loadaware/internal/sizing"
)

// reservedParams are the query parameters of GET /predict that are not features.
var reservedParams = map[string]bool{
	"namespace": true, "dag_id": true, "task_id": true, "run_id": true, "map_index": true,
	"try_number": true, "memory": true, "cpu": true, "max_memory": true, "execution_timeout_seconds": true,
}

// queryFeatures reads each parameter that is not reserved as a feature. It adds an error for each parameter,
// reserved or not, that occurs more than once.
func (f *fieldReader) queryFeatures(query url.Values, reserved map[string]bool) sizing.Features {
	features := make(sizing.Features, len(query))
	for name, values := range query {
		if len(values) > 1 {
			f.add(name, "occurs %d times; send it once", len(values))
		}
		if reserved[name] {
			continue
		}
		v, err := parseFeature(values[0])
		if err != nil {
			f.add("features."+name, "%s", err)
		}
		features[name] = v
	}
	return features
}

// parseFeature infers the kind of a value. Empty text is a missing value. Text in quotes is read like a string
// of POST /predict (sizing.TextValue). Without quotes, true and false are bools, JSON numbers are numbers, and any
// other text is read as if in quotes.
func parseFeature(text string) (sizing.Value, error) {
	quoted := strings.TrimPrefix(text, `"`)
	switch {
	case text == "":
		return sizing.Value{}, nil
	case len(quoted) < len(text) && strings.HasSuffix(quoted, `"`):
		return sizing.TextValue(strings.TrimSuffix(quoted, `"`)), nil
	case text == "true" || text == "false":
		return sizing.BoolValue(text == "true"), nil
	case jsontext.Value(text).IsValid() && jsontext.Value(text).Kind() == '0':
		v, ok := sizing.ParseNumber(strings.TrimSpace(text)) // JSON allows space around a value
		if !ok {
			return sizing.Value{}, codec.ErrNumberTooLarge
		}
		return v, nil
	}
	return sizing.TextValue(text), nil
}

// parseQuery reads a raw query. It rejects malformed parameters, which net/http would ignore.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &failure{class: malformed, detail: fmt.Sprintf("the query is malformed: %v; percent-encode &, ;, + and %%", err)}
	}
	return values, nil
}
