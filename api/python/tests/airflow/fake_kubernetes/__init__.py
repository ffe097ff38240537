"""A Kubernetes API of pods that only pretend to run, on plain HTTP of loopback.

It knows nothing of Airflow or of loadaware. What a pod does is written in its own
environment (see script); when it does it follows from its age (see lifecycle); so
nothing runs in the background, and two reads at the same age tell the same.
"""

from fake_kubernetes.cluster import Cluster, Pod
from fake_kubernetes.kubeconfig import write_kubeconfig
from fake_kubernetes.script import SCRIPT_VARIABLE, Death, Script
from fake_kubernetes.server import serve

__all__ = ["SCRIPT_VARIABLE", "Cluster", "Death", "Pod", "Script", "serve", "write_kubeconfig"]
