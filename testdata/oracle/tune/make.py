"""Gaussian process posteriors by scikit-learn and expected improvement by scipy, for internal/ml/tune.

    pip install scikit-learn==1.9.1 scipy==1.17.1 numpy==2.4.6
    python make.py > gp.json

The kernels are fixed: variance * Matern(lengths, nu=2.5) with variance * noise on the
diagonal (alpha); no parameter is optimised. The deviations are those of the loss without noise.
"""
import json
import sys

import numpy as np
import scipy
import sklearn
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern

rng = np.random.default_rng(31)
cases = []
for n, d, variance, noise in ((1, 1, 2.0, 0.01), (5, 1, 1.0, 1e-6), (12, 3, 0.3, 1e-4), (30, 6, 40.0, 0.1), (30, 2, 1.0, 1e-6)):
    lengths = 10 ** rng.uniform(-1, 0.5, d)
    x, y = rng.uniform(size=(n, d)), rng.normal(size=n) * np.sqrt(variance)
    at = np.vstack([rng.uniform(size=(6, d)), x[:1], x[:1] + 1e-4])
    kernel = ConstantKernel(variance, "fixed") * Matern(lengths, "fixed", nu=2.5)
    gp = GaussianProcessRegressor(kernel, alpha=variance * noise, optimizer=None).fit(x, y)
    mean, deviation = gp.predict(at, return_std=True)
    cases.append({
        "lengths": lengths.tolist(), "variance": variance, "noise": noise, "x": x.tolist(), "y": y.tolist(),
        "at": at.tolist(), "mean": mean.tolist(), "deviation": deviation.tolist(), "log": gp.log_marginal_likelihood_value_,
    })

improvements = []
for lowest, mean, deviation in ((0, 0, 1), (1, 0, 0.5), (0, 1, 0.5), (-2, 3, 1), (0, 10, 1), (5, -5, 0.1), (0, 1, 1e-3), (0.3, 0.2999, 1e-4)):
    z = (lowest - mean) / deviation
    improvements.append([lowest, mean, deviation, float((lowest - mean) * norm.cdf(z) + deviation * norm.pdf(z))])
json.dump({"made_with": f"scikit-learn {sklearn.__version__}, scipy {scipy.__version__}, numpy {np.__version__}", "cases": cases, "improvements": improvements}, sys.stdout, separators=(",", ":"))
