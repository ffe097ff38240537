"""A whole deployment on loopback: loadaware, a fake Kubernetes and a real Airflow.

The modules launch, trigger and history_seed import Airflow, so the others run them as separate processes.
"""
