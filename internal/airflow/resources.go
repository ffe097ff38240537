package airflow

import (
	"encoding/json"
	"regexp"

	"github.com/loadaware/loadaware/internal/sizing"
)

// resources reads the rendered container_resources: an object on 3.x; on 2.x the text
// of Python's V1ResourceRequirements, such as
//
//	{'claims': None, 'limits': {'memory': '8Gi'}, 'requests': {'cpu': '1500m', 'memory': '8Gi'}}
//
// A pod gets its request where no limit is set. What cannot be read is not known.
func (i *Instance) resources() (requested, allocated sizing.Resources) {
	var object struct {
		Requests map[string]any `json:"requests"`
		Limits   map[string]any `json:"limits"`
	}
	var text string
	switch {
	case len(i.Rendered.Resources) == 0:
		return requested, allocated
	case json.Unmarshal(i.Rendered.Resources, &object) == nil:
	case json.Unmarshal(i.Rendered.Resources, &text) == nil:
		object.Requests, object.Limits = pythonMap(text, "requests"), pythonMap(text, "limits")
	}
	requested, allocated = amounts(object.Requests), amounts(object.Limits)
	if requested.Memory == 0 { // Kubernetes requests the limit where no request is made
		requested.Memory = allocated.Memory
	}
	if allocated.Memory == 0 {
		allocated.Memory = requested.Memory
	}
	allocated.CPU = requested.CPU
	return requested, allocated
}

func amounts(of map[string]any) (r sizing.Resources) {
	if memory, ok := of["memory"].(string); ok {
		r.Memory, _ = sizing.ParseMemory(memory) // zero is not known
	}
	if cpu, ok := of["cpu"].(string); ok {
		r.CPU, _ = sizing.ParseCPU(cpu)
	}
	return r
}

var pair = regexp.MustCompile(`'(memory|cpu)':\s*'([^']*)'`)

// pythonMap is the part of a printed V1ResourceRequirements that stands behind a name.
func pythonMap(text, name string) map[string]any {
	part := regexp.MustCompile(`'` + name + `':\s*\{([^{}]*)\}`).FindStringSubmatch(text)
	if part == nil {
		return nil
	}
	found := map[string]any{}
	for _, p := range pair.FindAllStringSubmatch(part[1], -1) {
		found[p[1]] = p[2]
	}
	return found
}
