"""A trial of a campaign with hundreds of runs and with killed processes: python -m trial --runs 380 --kills 20."""
