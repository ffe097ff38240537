package httpapi

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/api"
	"github.com/loadaware/loadaware/internal/sizing"
)

// checkQuery rejects query parameters that openapi.yaml does not list for the operation. Otherwise a misspelled filter would
// select everything, and a misspelled namespace the default one. checkQuery accepts every query of public operations, of
// operations that read other parameters as features, and of operations without a parameter, such as POST /observe: a
// parameter that a proxy adds must not lose a report.
func (rule *route) checkQuery(operation, raw string) error {
	known := api.QueryParams[operation]
	if raw == "" || len(known) == 0 || rule.public || rule.hasFeatures {
		return nil
	}
	query, err := parseQuery(raw)
	if err != nil {
		return err
	}
	detail := "is not a query parameter of this operation; it has " + strings.Join(known, ", ")
	var unknown []sizing.FieldError
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if name != "" && !slices.Contains(known, name) && len(unknown) < maxUnknownParams { // "?=x" names no parameter
			unknown = append(unknown, sizing.FieldError{Field: fmt.Sprintf("%.100s", name), Detail: detail})
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return invalidFields(unknown)
}

// maxUnknownParams bounds the answer to a query with many unknown parameters.
const maxUnknownParams = 5

// queryFeatures reads the query of an operation. Each parameter that openapi.yaml does not list is a feature.
// queryFeatures adds an error for each parameter, listed or not, that occurs more than once.
func (f *fieldReader) queryFeatures(ctx context.Context) (sizing.Features, error) {
	info := infoOf(ctx)
	query, err := parseQuery(info.query)
	if err != nil {
		return nil, err
	}
	features := make(sizing.Features, len(query))
	for name, values := range query {
		if len(values) > 1 {
			f.add(name, "occurs %d times; send it once", len(values))
		}
		if slices.Contains(api.QueryParams[info.route], name) {
			continue
		}
		features[name] = sizing.UntypedValue(values[0])
	}
	return features, nil
}

// parseQuery reads a raw query. It rejects malformed parameters, which net/http would ignore.
func parseQuery(raw string) (url.Values, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, &failure{class: malformed, detail: fmt.Sprintf("the query is malformed: %v; percent-encode &, ;, + and %%", err)}
	}
	return values, nil
}
