package client

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// ParseFeatures parses FEATURE=VALUE arguments into a JSON object; nil without arguments. It reads a value like a parameter
// of GET /predict.
func ParseFeatures(args []string) (json.RawMessage, error) {
	features := map[string]any{}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("%q is not FEATURE=VALUE", arg)
		}
		if _, exists := features[name]; exists {
			return nil, fmt.Errorf("feature %s: given twice", name)
		}
		features[name] = sizing.UntypedValue(text).JSON()
	}
	if len(features) == 0 {
		return nil, nil
	}
	return json.Marshal(features)
}
