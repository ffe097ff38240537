"""A fake Kubernetes API on localhost whose pods only simulate running.

It does not depend on Airflow or loadaware. A pod's environment contains its script (see script). Each read computes the
status of a pod from its script, its resizes and its age (see lifecycle); no background thread changes it.
"""

from fake_kubernetes.cluster import Cluster, Pod
from fake_kubernetes.kubeconfig import write_kubeconfig
from fake_kubernetes.script import SCRIPT_VARIABLE, Failure, NodeCapacity, Script
from fake_kubernetes.server import serve

__all__ = ["SCRIPT_VARIABLE", "Cluster", "Failure", "NodeCapacity", "Pod", "Script", "serve", "write_kubeconfig"]
