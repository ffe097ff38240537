package airflow

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loadaware/loadaware/internal/sizing"
)

// Metadata returns the metadata that the Airflow provider would have sent for the tries of an
// instance. Names, values and limits must be the same as in metadata.py of the provider, because later
// predictions send the same metadata. For a task that Airflow no longer has, `task` points to a zero Task.
func (i *Instance) Metadata(task *Task, tags []string) sizing.Metadata {
	found := sizing.Metadata{}
	add := func(name string, values ...string) {
		if values = metadataValues(values); len(values) > 0 {
			found[name] = values
		}
	}
	add("operator", strings.TrimPrefix(strings.TrimLeft(i.Operator, "_"), "Sized"))
	add("owner", task.Owner)
	add("pool", firstKnown(task.Pool, i.Pool)) // a cluster policy of Airflow may move an instance to another pool
	add("queue", firstKnown(task.Queue, i.Queue))
	add("tags", tags...)
	add("params", paramNames(task.Params)...)
	add("image", untagged(string(i.Rendered.Image)))
	add("gpu", i.gpus()...)
	add("kubernetes_namespace", string(i.Rendered.Namespace))
	add("node_selector", pairs(i.Rendered.NodeSelector)...)
	if len(found) == 0 {
		return nil
	}
	return found
}

func metadataValues(values []string) []string {
	var accepted []string
	for _, v := range values {
		isPrintable := utf8.ValidString(v) && !strings.ContainsFunc(v, func(r rune) bool { return !unicode.IsPrint(r) })
		if v != "" && isPrintable && utf8.RuneCountInString(v) <= sizing.MaxMetadataValue {
			accepted = append(accepted, v)
		}
	}
	slices.Sort(accepted)
	accepted = slices.Compact(accepted)
	return accepted[:min(len(accepted), sizing.MaxMetadataValues)]
}

func firstKnown(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func paramNames(params map[string]any) []string {
	return slices.DeleteFunc(slices.Collect(maps.Keys(params)), secretName.MatchString)
}

// untagged returns an image reference without its tag and digest, which change with every build.
func untagged(reference string) string {
	image, _, _ := strings.Cut(reference, "@")
	name := strings.LastIndexByte(image, '/') + 1
	withoutTag, _, _ := strings.Cut(image[name:], ":")
	return image[:name] + withoutTag
}

// gpuPair matches one GPU limit in a printed dict.
var gpuPair = regexp.MustCompile(`'([^']*gpu[^']*)':\s*'([^']*)'`)

func (i *Instance) gpus() []string {
	object, text := i.renderedResources()
	limits := map[string]any{}
	for name, count := range object.Limits {
		if strings.Contains(name, "gpu") {
			limits[name] = count
		}
	}
	for _, pair := range gpuPair.FindAllStringSubmatch(pythonPart(text, "limits"), -1) {
		limits[pair[1]] = pair[2]
	}
	return pairs(limits)
}

func pairs(values map[string]any) []string {
	var texts []string
	for name, v := range values {
		switch v.(type) {
		case string, float64, json.Number:
			texts = append(texts, fmt.Sprintf("%s=%v", name, v))
		}
	}
	return texts
}
