"""A whole deployment on loopback: loadaware, a fake Kubernetes and a real Airflow.

Nothing here imports Airflow: it runs in processes of its own, as in production.
"""
