package httpapi

import (
	"fmt"
	"net/url"

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
		v, ok := sizing.UntypedValue(values[0])
		if !ok {
			f.add("features."+name, "%s", codec.ErrNumberTooLarge)
		}
		features[name] = v
	}
	return features
}

// parseQuery reads a raw query. It rejects malformed parameters, which net/http would ignore.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &failure{class: malformed, detail: fmt.Sprintf("the query is malformed: %v; percent-encode &, ;, + and %%", err)}
	}
	return values, nil
}
