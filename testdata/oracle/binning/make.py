"""Best edges by trying every choice with itertools and numpy, for internal/ml/binning.

    pip install numpy && python make.py > improvement.json

Each case: peaks, durations, the number of bins, the top (the upper edge of the last
bin), and the improvement of the best edges: the share of memory that they save
against a grant of the top to every run, once with equal weights and once weighted
by duration.
"""
import itertools
import json

import numpy as np

rng = np.random.default_rng(7)


def improvement(edges, top, peaks, weights):
    granted = np.append(edges, top)[np.searchsorted(np.append(edges, top), np.minimum(peaks, top))]
    return 1 - np.sum(granted * weights) / (top * np.sum(weights))


def best(peaks, weights, bins, top):
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
