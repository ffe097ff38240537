// Package prometheus asks a Prometheus server what the pods of finished tries used.
//
// It knows the metrics of the kubelet (cAdvisor) and of kube-state-metrics, the
// labels that Airflow's KubernetesPodOperator writes, and the words of sizing. It
// knows nothing of storing and learning.
//
//	try ──Labels──▶ kube_pod_labels ──▶ pod ──one query──▶ samples ──▶ Usage
//
// What it tells of memory was sampled, once per scrape: a spike between two scrapes
// is not in it.
package prometheus
