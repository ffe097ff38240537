"""A whole deployment on loopback: loadaware, a fake Kubernetes and a real Airflow.

The modules launch, local_settings, trigger and history_seed import Airflow, so the others run them as separate
processes; commands does so in its own process.
"""
