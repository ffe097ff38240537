package airflow

import (
	"encoding/json"
	"regexp"

	"github.com/loadaware/loadaware/internal/sizing"
)

// resources parses the rendered container_resources: a JSON object on 3.x, and on 2.x the
// printed form of V1ResourceRequirements of the Kubernetes client for Python, such as
//
//	{'claims': None, 'limits': {'memory': '8Gi'}, 'requests': {'cpu': '1500m', 'memory': '8Gi'}}
//
// Without a memory limit the allocated memory is the request, and without a memory request the requested memory is
// the limit. The allocated CPU is always the request. An amount that cannot be parsed counts as missing. An amount of
// 0 means unknown.
func (i *Instance) resources() (requested, allocated sizing.Resources) {
	object, text := i.renderedResources()
	if text != "" {
		object.Requests, object.Limits = pythonMap(text, "requests"), pythonMap(text, "limits")
	}
	requested, allocated = amounts(object.Requests), amounts(object.Limits)
	if requested.Memory == 0 { // Kubernetes requests the limit if there is no request
		requested.Memory = allocated.Memory
	}
	if allocated.Memory == 0 {
		allocated.Memory = requested.Memory
	}
	allocated.CPU = requested.CPU
	return requested, allocated
}

// podResources maps the names of resources, such as "memory", to amounts.
type podResources struct {
	Requests map[string]any `json:"requests"`
	Limits   map[string]any `json:"limits"`
}

// renderedResources returns the object of 3.x, or the printed form of 2.x.
func (i *Instance) renderedResources() (object podResources, text string) {
	if len(i.Rendered.Resources) > 0 && json.Unmarshal(i.Rendered.Resources, &object) != nil {
		_ = json.Unmarshal(i.Rendered.Resources, &text) // anything else is unknown
	}
	return object, text
}

func amounts(resources map[string]any) (r sizing.Resources) {
	if memory, ok := resources["memory"].(string); ok {
		r.Memory, _ = sizing.ParseMemory(memory)
	}
	if cpu, ok := resources["cpu"].(string); ok {
		r.CPU, _ = sizing.ParseCPU(cpu)
	}
	return r
}

// amountPair matches one amount in a printed dict.
var amountPair = regexp.MustCompile(`'(memory|cpu)':\s*'([^']*)'`)

// pythonMap reads the dict after `name` in a printed V1ResourceRequirements.
func pythonMap(text, name string) map[string]any {
	found := map[string]any{}
	for _, p := range amountPair.FindAllStringSubmatch(pythonPart(text, name), -1) {
		found[p[1]] = p[2]
	}
	return found
}

func pythonPart(text, name string) string {
	part := regexp.MustCompile(`'` + name + `':\s*\{([^{}]*)\}`).FindStringSubmatch(text)
	if part == nil {
		return ""
	}
	return part[1]
}
