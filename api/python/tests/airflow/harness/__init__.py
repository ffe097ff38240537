"""A whole deployment on loopback: loadaware, a fake Kubernetes and a real Airflow.

The modules `launch`, `local_settings`, `trigger` and `history_seed` import Airflow, so they run only in separate
processes. The module `commands` imports Airflow only in the process that it starts.
"""
