"""Exact Shapley values of the shap package, with which the tests of internal/ml/gbt and internal/ml/linear compare.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make.py

writes, beside this script:
    trees.json    random trees, rows with missing values, and their path-dependent TreeSHAP values
    linear.json   training rows and targets of a linear model, rows to explain, and their Shapley values

In some places shap stores leaves, cuts and weights as float32. Here they are small multiples of 1/128, which
float32 represents exactly, so that the Shapley values agree up to the rounding of float64.
"""

import json
import pathlib

import numpy as np
import shap

HERE = pathlib.Path(__file__).parent
VERSIONS = {m.__name__: m.__version__ for m in (np, shap)}
COLS, ROWS = 10, 25


def write(name, **content):
    (HERE / name).write_text(json.dumps({"versions": VERSIONS, **content}, separators=(",", ":")) + "\n")


def grid(v):
    return float(np.round(v * 64) / 64)


def grow(rng, cover, depth):
    """Return a random tree as [column, cut, missing left, 0, cover, left, right], or a leaf as [value, cover]. No value of a row equals a cut."""
    if depth == 0 or cover < 2 or rng.random() < 0.1:
        return [grid(rng.normal()), cover]
    left = int(rng.integers(1, cover))
    return [int(rng.integers(COLS)), grid(rng.normal()) + 1 / 128, bool(rng.random() < 0.5), 0, cover,
            grow(rng, left, depth - 1), grow(rng, cover - left, depth - 1)]


def as_shap(tree):
    """Return a tree as arrays for shap.TreeExplainer, where a value <= threshold goes left."""
    keys = ("children_left", "children_right", "children_default", "features", "thresholds", "values", "node_sample_weight")
    a = {k: [] for k in keys}

    def add(node):
        i, leaf = len(a["values"]), len(node) == 2
        for k, v in zip(keys, (-1, -1, -1, -1, 0.0, node[0] if leaf else 0.0, float(node[1] if leaf else node[4]))):
            a[k].append(v)
        if not leaf:
            column, cut, missing_left, _, _, left, right = node
            a["features"][i], a["thresholds"][i] = column, cut
            a["children_left"][i] = add(left)
            a["children_right"][i] = add(right)
            a["children_default"][i] = a["children_left" if missing_left else "children_right"][i]
        return i

    add(tree)
    out = {k: np.array(v) for k, v in a.items()}
    out["values"] = out["values"].reshape(-1, 1)
    return out


def trees():
    rng = np.random.default_rng(1)
    forest = [grow(rng, 400, depth) for depth in (1, 2, 3, 5, 5, 6, 8)]
    x = np.round(rng.normal(size=(ROWS, COLS)) * 64) / 64
    x[rng.random(x.shape) < 0.1] = np.nan
    e = shap.TreeExplainer({"trees": [as_shap(t) for t in forest], "input_dtype": np.float64}, feature_perturbation="tree_path_dependent")
    phi = np.reshape(e.shap_values(x, check_additivity=False), (ROWS, COLS))
    rows = [[None if np.isnan(v) else float(v) for v in row] for row in x]
    write("trees.json", x=rows, trees=forest, expected=float(np.ravel(e.expected_value)[0]), phi=phi.tolist())


def linear():
    rng = np.random.default_rng(2)
    background, x = (np.round(rng.normal(size=(n, COLS)) * 64) / 64 for n in (200, ROWS))
    y = background @ rng.normal(size=COLS) + rng.normal(size=200) / 4
    # ridge on standardised columns, as package linear fits it
    mean, scale = background.mean(axis=0), background.std(axis=0)
    z = (background - mean) / scale
    coef = np.linalg.solve(z.T @ z + np.eye(COLS), z.T @ (y - y.mean())) / scale
    intercept = y.mean() - coef @ mean
    e = shap.LinearExplainer((coef, intercept), shap.maskers.Independent(background, max_samples=len(background)))
    write("linear.json", background=background.tolist(), y=y.tolist(), x=x.tolist(), expected=float(e.expected_value), phi=e.shap_values(x).tolist())


trees()
linear()
