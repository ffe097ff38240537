"""Quantiles of residuals by numpy and Student distributions by scipy, as references for internal/ml/experts.

    pip install numpy scipy && python make.py > experts.json
"""
import json
import sys

import numpy as np
import scipy
from scipy.stats import t

# The split-conformal quantile, interpolated between ranks: the method "weibull" of numpy takes the value at rank
# (n+1)·q, counted from one. The rank exists up to q = n/(n+1).
rng = np.random.default_rng(7)
uppers = []
for n in (10, 32, 99, 500):
    residuals = np.sort(rng.normal(size=n))
    for risk in (0.4, 0.2, 0.1, 0.05, 0.02, 0.015, 0.005):
        if risk * (n + 1) >= 1:
            v = np.quantile(residuals, 1 - risk, method="weibull")
            uppers.append({"residuals": residuals.tolist(), "risk": risk, "upper": float(v)})

# The predictive distribution of a task in its cold start: a Student distribution from n log peaks, whose squared
# errors have the sum `sq`. The prior counts as 2 rows with a deviation of 0.3. The estimate of the mean log peak costs
# one degree of freedom. The file has these results under the key "young".
cold_start = []
for n in (1, 2, 3, 5, 8, 12, 31):
    for sq in (0.0, 0.2, 3.0):
        if n == 1 and sq > 0:
            continue
        nu = 2 + n - 1
        scale = np.sqrt((2 * 0.3**2 + sq) / nu * (1 + 1 / n))
        cold_start.append({"rows": n, "squares": sq, "quantile": float(t.ppf(1 - 0.015, nu) * scale),
                      "risk_at_reach": float(t.sf(np.log(1 + 1 / np.sqrt(n)) / scale, nu))})
json.dump({"made_with": f"numpy {np.__version__}, scipy {scipy.__version__}", "uppers": uppers, "young": cold_start}, sys.stdout)
