"""Wilson intervals of a probability by statsmodels, for internal/sizing.

    pip install statsmodels numpy && python make.py > wilson.json
"""
import json
import sys

import numpy as np
import statsmodels
from statsmodels.stats.proportion import proportion_confint

intervals = []
for k, n in ((0, 1), (0, 30), (1, 30), (3, 200), (15, 1000), (430, 29191), (30, 30), (500, 1000)):
    for level in (0.9, 0.95, 0.99):
        low, high = proportion_confint(k, n, alpha=1 - level, method="wilson")
        intervals.append({"method": "wilson", "k": k, "n": n, "level": level, "low": float(np.nan_to_num(low, nan=0.0)), "high": float(np.nan_to_num(high, nan=1.0))})
json.dump({"made_with": f"statsmodels {statsmodels.__version__}, numpy {np.__version__}", "intervals": intervals}, sys.stdout)
