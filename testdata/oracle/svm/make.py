"""Decision values by libsvm, sigmoids and pairwise couplings by scipy, as references for internal/ml/svm.

    pip install scikit-learn==1.9.1 numpy==2.4.6 scipy==1.17.1 && python make.py

writes, beside this script:
    decisions.json  rows, some with missing values and weights, and libsvm's decision
                    value of every pair of bins, positive for the lower one
    sigmoids.json   decision values, and the slope and level that maximise Platt's
                    likelihood, by scipy's BFGS and the root of its gradient
    couplings.json  P(i | i or j), and the probabilities of the bins that minimise the
                    loss of Wu, Lin & Weng's second method, by scipy's SLSQP

As in internal/ml/svm, the weighted mean of a column replaces its missing values, and
the column is then standardised by its weighted mean and standard deviation.
"""
import json
import pathlib

import numpy as np
import scipy
import sklearn
from scipy.optimize import minimize, root
from sklearn.svm import SVC

HERE = pathlib.Path(__file__).parent
VERSIONS = {m.__name__: m.__version__ for m in (np, scipy, sklearn)}
rng = np.random.default_rng(17)


def write(name, cases):
    (HERE / name).write_text(json.dumps({"versions": VERSIONS, "cases": cases}, separators=(",", ":")) + "\n")


def standardise(x, w):
    """Return the varying columns, with missing values replaced, at mean 0 and deviation 1."""
    known = ~np.isnan(x)
    mean = np.nansum(x * w[:, None], 0) / np.sum(known * w[:, None], 0)
    filled = np.where(known, x, mean)
    deviation = np.sqrt(np.average((filled - mean) ** 2, axis=0, weights=w))
    varies = deviation > 1e-9 * np.abs(mean)
    return ((filled - mean) / np.where(varies, deviation, 1))[:, varies]


def decisions():
    for n, p, bins, c, gamma, weighted, missing in (
        (60, 3, 2, 1.0, "scale", False, 0),  # the defaults of svm.Config
        (80, 4, 2, 10.0, 0.05, True, 0.2),
        (90, 4, 3, 1.0, "scale", False, 0.1),
        (120, 5, 4, 3.0, 0.3, True, 0.1),
        (60, 2, 3, 1000.0, 2.0, True, 0),
    ):
        x = rng.normal(size=(n, p))
        y = np.digitize(x[:, 0] + x[:, 1] ** 2 + rng.normal(size=n) * 0.4, np.quantile(x[:, 0] + x[:, 1] ** 2, np.arange(1, bins) / bins))
        x = np.round(x * 10.0 ** rng.integers(-2, 6, p) + 10.0 ** rng.integers(0, 6, p), 6)
        if p > 3:
            x[:, 3] = 7  # a constant column
        w = np.round(rng.uniform(0.1, 3, n), 3) if weighted else np.ones(n)
        x[rng.uniform(size=x.shape) < missing] = np.nan
        z = standardise(x, w)
        fit = SVC(C=c, gamma=gamma, tol=1e-7, decision_function_shape="ovo", cache_size=500).fit(z, y, sample_weight=w)
        d = fit.decision_function(z)
        d = -d[:, None] if bins == 2 else d  # for two bins scikit-learn reverses the sign
        yield {
            "bins": bins, "c": c, "gamma": 0 if gamma == "scale" else gamma,
            "x": [[None if np.isnan(v) else v for v in row] for row in x.tolist()],
            "y": y.tolist(), "w": w.tolist() if weighted else None, "decisions": np.round(d, 9).tolist(),
        }


def sigmoids():
    for n, shift, slope, weighted in ((40, 0.0, 1.5, False), (200, 1.0, 0.7, True), (30, 0.0, 50.0, False), (25, -0.5, -1.0, True), (12, 1.0, 0.5, False)):
        f = np.round(rng.normal(size=n) + shift, 4)
        y = np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-slope * f)), 1.0, -1.0)
        w = np.round(rng.uniform(0.1, 5, n), 3) if weighted else np.ones(n)
        plus, minus = w[y > 0].sum(), w[y < 0].sum()
        assert plus and minus
        t = np.where(y > 0, (plus + 1) / (plus + 2), 1 / (minus + 2))

        def loss(ab):
            v = ab[0] * f + ab[1]
            return np.sum(w * (t * v + np.logaddexp(0, -v))) / w.sum()

        def gradient(ab):
            d = w * (t - 1 / (1 + np.exp(ab[0] * f + ab[1]))) / w.sum()
            return np.array([d @ f, d.sum()])

        near = minimize(loss, [0, 0], jac=gradient, method="BFGS").x
        best = root(gradient, near, tol=1e-14).x  # BFGS stops too early: near the minimum the loss is constant up to rounding errors
        assert np.abs(gradient(best)).max() < 1e-13, gradient(best)
        yield {"f": f.tolist(), "y": y.tolist(), "w": w.tolist(), "slope": best[0], "level": best[1]}


def couplings():
    given = []
    for k in (2, 3, 5, 8):
        r = np.full((k, k), 0.5)
        upper = np.triu_indices(k, 1)
        r[upper] = rng.uniform(0.02, 0.98, len(upper[0]))
        given.append(r)
    p = np.array([0.7, 0.2, 0.06, 0.04])
    given.append(p[:, None] / (p[:, None] + p))  # the pairs agree, so the result is p
    sure = np.full((3, 3), 0.5)
    sure[0, 1], sure[0, 2], sure[1, 2] = 1 - 1e-7, 1e-7, 1 - 1e-7  # i beats j, j beats k and k beats i, each almost certainly
    given.append(sure)
    for r in given:
        k = len(r)
        r = np.triu(r, 1) + np.tril(1 - r.T, -1)

        def loss(p):
            return np.sum((r.T * p[:, None] - r * p) ** 2) / 2

        def gradient(p):
            m = r.T * p[:, None] - r * p
            return 2 * np.sum(m * r.T, 1)

        best = minimize(loss, np.full(k, 1 / k), jac=gradient, method="SLSQP", bounds=[(0, 1)] * k,
                        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like}, options={"ftol": 1e-16, "maxiter": 1000})
        assert best.success, best.message
        yield {"pairwise": r.tolist(), "p": best.x.tolist()}


write("decisions.json", list(decisions()))
write("sigmoids.json", list(sigmoids()))
write("couplings.json", list(couplings()))
