"""Ridge regression by scikit-learn, for internal/ml/linear.

    pip install scikit-learn && python make.py > ridge.json

As in internal/ml/linear, the weighted mean of a column replaces its missing values,
and the column is then standardised by its weighted mean and standard deviation.
scikit-learn's Ridge fits the result. Predictions are for the training rows.
"""
import json
import sys

import numpy as np
import sklearn
from sklearn.linear_model import Ridge

rng = np.random.default_rng(11)
cases = []
for n, p, alpha, weighted, missing in ((40, 3, 1.0, False, 0), (60, 5, 10.0, True, 0), (60, 5, 0.01, True, 0.2), (8, 12, 1.0, False, 0.1)):
    x = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-2, 6, p) + 10.0 ** rng.integers(0, 6, p)
    x[:, 0] = 3.5  # a constant column
    y = 2 + (x - x.mean(0)) @ rng.normal(size=p) / (x.std(0).max() + 1) + rng.normal(size=n) * 0.3
    w = rng.uniform(0.1, 3, n) if weighted else np.ones(n)
    x = np.round(x, 6)
    x[rng.uniform(size=x.shape) < missing] = np.nan
    known = ~np.isnan(x)
    mean = np.nansum(x * w[:, None], 0) / np.sum(known * w[:, None], 0)
    filled = np.where(known, x, mean)
    scale = np.sqrt(np.average((filled - mean) ** 2, axis=0, weights=w))
    scale[scale < 1e-9 * np.abs(mean)] = 1
    z = (filled - mean) / scale
    model = Ridge(alpha=alpha, solver="cholesky").fit(z, y, sample_weight=w)
    cases.append({
        "penalty": alpha, "x": [[None if np.isnan(v) else v for v in row] for row in x.tolist()],
        "y": y.tolist(), "w": w.tolist() if weighted else None, "predicted": model.predict(z).tolist(),
    })
json.dump({"made_with": f"scikit-learn {sklearn.__version__}", "cases": cases}, sys.stdout)
