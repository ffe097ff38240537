"""A trial of a campaign at full size: python -m trial --runs 380 --kills 20."""
