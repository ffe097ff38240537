package prometheus

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/loadaware/loadaware/internal/sizing"
)

// ErrAmbiguous means that several Kubernetes namespaces have pods with the labels of a try. Labels do not name the Airflow
// deployment, and two deployments often have the same DAGs and run ids.
var ErrAmbiguous = errors.New("several Kubernetes namespaces have a pod with the labels of the try; set LOADAWARE_PROMETHEUS_NAMESPACE, for example prod=af-prod,staging=af-staging (loadaware namespace=Kubernetes namespace)")

// Namespaces selects the Kubernetes namespace of the pods of each loadaware namespace. The zero value selects all Kubernetes
// namespaces.
type Namespaces struct {
	common string            // Kubernetes namespace of all loadaware namespaces; any if empty
	mapped map[string]string // Kubernetes namespaces by loadaware namespace; if not nil, other loadaware namespaces have no pods
}

// Of returns the Kubernetes namespace of a loadaware namespace; any if empty. It returns false if the loadaware namespace
// has no pods.
func (n Namespaces) Of(loadaware string) (kubernetes string, ok bool) {
	if n.mapped == nil {
		return n.common, true
	}
	kubernetes, ok = n.mapped[loadaware]
	return kubernetes, ok
}

// kubernetesName matches the names that Kubernetes permits for a namespace (an RFC 1123 label).
var kubernetesName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// Decode implements envconfig.Decoder. The value is one Kubernetes namespace, or pairs such as
// prod=af-prod,staging=af-staging.
func (n *Namespaces) Decode(value string) error {
	*n = Namespaces{}
	if name := strings.TrimSpace(value); name == "" || kubernetesName.MatchString(name) {
		n.common = name
		return nil
	}
	n.mapped = map[string]string{}
	for pair := range strings.SplitSeq(value, ",") {
		loadaware, kubernetes, _ := strings.Cut(pair, "=")
		loadaware, kubernetes = strings.TrimSpace(loadaware), strings.TrimSpace(kubernetes)
		if sizing.CheckID(loadaware) != "" || !kubernetesName.MatchString(kubernetes) {
			return fmt.Errorf("Kubernetes namespaces %q: must be one name, or pairs of a loadaware and a Kubernetes namespace such as prod=af-prod,staging=af-staging", value)
		}
		if _, exists := n.mapped[loadaware]; exists {
			return fmt.Errorf("Kubernetes namespaces %q: has two pairs for %s", value, loadaware)
		}
		n.mapped[loadaware] = kubernetes
	}
	return nil
}

func checkNamespaces(pods []Pod) error {
	names := make([]string, len(pods))
	for i := range pods {
		names[i] = pods[i].Namespace
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) > 1 {
		try := pods[0].Try
		return fmt.Errorf("%s, run %s, try %d: found in %s: %w", try.TaskKey, try.RunID, try.Number, strings.Join(names, ", "), ErrAmbiguous)
	}
	return nil
}
