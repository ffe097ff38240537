"""Binomial intervals by statsmodels and weighted quantiles by numpy, for internal/ml/conformal.

    pip install statsmodels numpy && python make.py > conformal.json
"""
import json
import sys

import numpy as np
import statsmodels
from statsmodels.stats.proportion import proportion_confint

intervals = []
for k, n in ((0, 1), (0, 30), (1, 30), (3, 200), (15, 1000), (430, 29191), (30, 30), (500, 1000)):
    for level in (0.9, 0.95, 0.99):
        for method, name in (("beta", "clopper_pearson"), ("wilson", "wilson")):
            low, high = proportion_confint(k, n, alpha=1 - level, method=method)
            intervals.append({"method": name, "k": k, "n": n, "level": level, "low": float(np.nan_to_num(low, nan=0.0)), "high": float(np.nan_to_num(high, nan=1.0))})

# The split-conformal quantile is the (n+1)q-th smallest: numpy's inverted_cdf
# quantile of the scores with one infinite score more.
rng = np.random.default_rng(5)
quantiles = []
for n in (3, 20, 99, 100, 500):
    scores = rng.normal(size=n)
    for q in (0.5, 0.9, 0.95, 0.985):
        v = np.quantile(np.append(scores, np.inf), q, method="inverted_cdf")
        quantiles.append({"scores": scores.tolist(), "q": q, "quantile": None if np.isinf(v) else float(v)})
json.dump({"made_with": f"statsmodels {statsmodels.__version__}, numpy {np.__version__}", "intervals": intervals, "quantiles": quantiles}, sys.stdout)
