package airflow

// PodOperators are globs of the operators that launch a pod: KubernetesPodOperator, its
// variants for EKS and GKE, and the decorated operators of Kubernetes.
var PodOperators = []string{"*PodOperator", "*Kubernetes*DecoratedOperator"}

// LaunchesPod reports whether the instance's operator matches one of the patterns.
func (i *Instance) LaunchesPod(operators Patterns) bool { return operators.match(i.Operator) }
