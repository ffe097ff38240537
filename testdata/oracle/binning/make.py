"""Best edges of bins, found by trying all choices, as the reference for internal/ml/binning.

    pip install numpy && python make.py > improvement.json

Each case has peaks, durations, the number of bins, the top (the upper edge of the last
bin), and the improvement of the best edges: the share of memory that these edges save
compared with a grant of the top to every run, once with equal weights (optimal) and
once weighted by duration (time_optimal).
"""
import itertools
import json

import numpy as np

rng = np.random.default_rng(7)


def improvement(edges, top, peaks, weights):
    """Return the share of memory that bins with these edges and the top save compared with grants of the top."""
    granted = np.append(edges, top)[np.searchsorted(np.append(edges, top), np.minimum(peaks, top))]
    return 1 - np.sum(granted * weights) / (top * np.sum(weights))


def best(peaks, weights, bins, top):
    """Return the largest improvement with at most this number of bins. Only peaks are useful edges."""
    pool = np.unique(peaks[peaks < top])
    return max(improvement(e, top, peaks, weights) for k in range(bins) for e in itertools.combinations(pool, k))


cases = []
for bins, top in ((2, 350.0), (3, 350.0), (3, 40.0), (4, 200.0)):
    peaks = np.round(rng.lognormal(2, 1.2, 60), 1)
    durations = np.round(rng.lognormal(6, 1, 60), 0)
    cases.append({
        "peaks": peaks.tolist(), "durations": durations.tolist(), "bins": bins, "top": top,
        "optimal": best(peaks, np.ones(60), bins, top), "time_optimal": best(peaks, durations, bins, top),
    })
json.dump({"made_with": f"numpy {np.__version__}", "cases": cases}, __import__("sys").stdout)
