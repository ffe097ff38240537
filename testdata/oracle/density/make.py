"""Labels and outlier scores of hdbscan, and validity indices of scikit-learn, for internal/ml/density.

    pip install -r requirements.txt && python make.py > density.json

hdbscan merges clusters along the edges of a spanning tree. The order of edges of equal length is arbitrary, and can change the
label of a point between two clusters. For each set the script therefore searches for a seed with which the order of the points
does not change the result.
"""
import itertools
import json
import sys

import hdbscan
import numpy as np
from sklearn.metrics import adjusted_rand_score, davies_bouldin_score, silhouette_score


def blobs(rng, centres, deviations, sizes, noise):
    parts = [rng.normal(c, d, (n, len(c))) for c, d, n in zip(centres, deviations, sizes)]
    low, high = np.min(centres, axis=0) - 3, np.max(centres, axis=0) + 3
    return np.vstack(parts + [rng.uniform(low, high, (noise, len(centres[0])))])


def moons(rng, n):
    t = rng.uniform(0, np.pi, n)
    upper = np.column_stack([np.cos(t), np.sin(t)])
    lower = np.column_stack([1 - np.cos(t), 0.5 - np.sin(t)])
    return np.vstack([upper, lower]) + rng.normal(0, 0.06, (2 * n, 2))


def nested(rng):
    return np.vstack([rng.normal(0, 3, (70, 3)), rng.normal(0, 0.2, (40, 3)), rng.normal(2, 0.2, (35, 3)), rng.normal(14, 1, (40, 3))])


sets = {
    "blobs": lambda rng: blobs(rng, [(0, 0), (6, 1), (3, 8)], [0.5, 0.9, 0.3], [60, 50, 40], 30),
    "moons": lambda rng: moons(rng, 40),
    "five dimensions": lambda rng: blobs(rng, rng.uniform(-10, 10, (6, 5)).tolist(), [0.4, 0.8, 0.6, 1.0, 0.5, 0.7], [40, 30, 25, 35, 20, 30], 40),
    "nested": nested,
}
settings = {
    "blobs": [(10, 5, 1.5), (5, 1, 0)],
    "moons": [(15, 5, 0), (8, 3, 0.25)],
    "five dimensions": [(10, 5, 0), (20, 10, 0)],
    "nested": [(10, 5, 0), (25, 5, 4.0)],
}


def fit(points, size, samples, epsilon):
    return hdbscan.HDBSCAN(min_cluster_size=size, min_samples=samples, cluster_selection_epsilon=float(epsilon), algorithm="prims_kdtree").fit(points)


def is_unique(points, setting):
    """Return whether three random orders of the points give the same clusters and outlier scores."""
    h = fit(points, *setting)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(points))
        other = fit(points[order], *setting)
        if adjusted_rand_score(h.labels_[order], other.labels_) < 1 or np.abs(h.outlier_scores_[order] - other.outlier_scores_).max() > 1e-9:
            return False
    return True


out = []
for name, make in sets.items():
    for seed in itertools.count(22):
        points = make(np.random.default_rng(seed)).round(3)
        if all(is_unique(points, s) for s in settings[name]):
            break
    case = {"name": name, "points": points.tolist(), "runs": []}
    for size, samples, epsilon in settings[name]:
        h = fit(points, size, samples, epsilon)
        used = h.labels_ >= 0
        print(name, "seed", seed, size, samples, epsilon, "clusters", h.labels_.max() + 1, "noise", (~used).sum(), file=sys.stderr)
        run = {
            "min_size": size, "min_samples": samples, "epsilon": epsilon,
            "labels": h.labels_.tolist(), "outlier": h.outlier_scores_.round(7).tolist(),
        }
        if h.labels_.max() > 0:
            run["silhouette"] = float(silhouette_score(points[used], h.labels_[used]))
            run["davies_bouldin"] = float(davies_bouldin_score(points[used], h.labels_[used]))
        case["runs"].append(run)
    out.append(case)
json.dump(out, sys.stdout, separators=(",", ":"))
