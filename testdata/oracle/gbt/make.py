"""Results of XGBoost, scikit-learn and shap, with which the tests of internal/ml/gbt compare.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python make.py

writes, beside this script:
    split.json   one small table with missing values, and the trees that XGBoost's
                 exact method grows on it: columns, cuts, gains, covers, leaves
    train.csv, test.csv, loss.json
                 1,000 + 500 rows × 8 noisy columns and three targets (a number, a
                 class, a skewed number), and held-out losses of both libraries
    shap.json    XGBoost trees, rows, and their exact TreeSHAP values
"""

import json
import pathlib

import numpy as np
import shap
import sklearn
import xgboost as xgb
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss, mean_pinball_loss

HERE = pathlib.Path(__file__).parent
VERSIONS = {m.__name__: m.__version__ for m in (np, sklearn, xgb, shap)}


def write(name, **content):
    text = json.dumps({"versions": VERSIONS, **content}, separators=(",", ":"))
    (HERE / name).write_text(text + "\n")


def nullable(x):
    return [[None if np.isnan(v) else float(v) for v in row] for row in x]


def compact(node):
    """Return a dumped node as [column, cut, missing left, gain, cover, left, right], or a leaf as [value, cover]."""
    if "leaf" in node:
        return [node["leaf"], node["cover"]]
    child = {c["nodeid"]: c for c in node["children"]}
    return [
        int(node["split"][1:]),
        node["split_condition"],
        node["missing"] == node["yes"],
        node["gain"],
        node["cover"],
        compact(child[node["yes"]]),
        compact(child[node["no"]]),
    ]


def trees(booster):
    return [compact(json.loads(t)) for t in booster.get_dump(with_stats=True, dump_format="json")]


def split():
    """Write split.json. Values are multiples of 1/64, so that float32 represents them and their midpoints exactly."""
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=(60, 3)) * 64) / 64
    x[rng.random((60, 3)) < 0.15] = np.nan
    y = np.round((np.nan_to_num(x[:, 0], nan=1.5) + np.nan_to_num(x[:, 1], nan=-1) ** 2 + rng.normal(size=60) / 4) * 64) / 64
    w = rng.integers(1, 4, size=60).astype(float)
    out = []
    for depth, lam, least in [(1, 1, 1), (3, 1, 1), (3, 5, 8)]:
        params = dict(tree_method="exact", max_depth=depth, reg_lambda=lam, min_child_weight=least, eta=1, base_score=0.5, nthread=1)
        model = xgb.train(params, xgb.DMatrix(x, y, weight=w), 1)
        out.append({"depth": depth, "lambda": lam, "min_child_weight": least, "tree": trees(model)[0]})
    write("split.json", x=nullable(x), y=y.tolist(), w=w.tolist(), fits=out)


def sample(n, rng):
    """Draw n rows of eight columns, and a number, a class and a skewed number that depend on the first four columns."""
    x = np.round(rng.normal(size=(n, 8)), 2)
    x[:, 3] = rng.integers(0, 4, size=n)
    level = 2 * x[:, 0] + np.sin(3 * x[:, 1]) * x[:, 2] + (x[:, 3] == 2) * 1.5
    number = np.round(level + rng.normal(size=n), 3)
    cls = np.clip(np.floor(level + rng.logistic(size=n) / 2 + 2), 0, 3)
    skewed = np.round(np.exp(level / 3) * (1 + rng.exponential(size=n)), 3)
    x[rng.random((n, 8)) < 0.03] = np.nan
    return x, number, cls, skewed


def loss():
    rng = np.random.default_rng(2)
    train, test = sample(1000, rng), sample(500, rng)
    for name, (x, *ys) in {"train.csv": train, "test.csv": test}.items():
        rows = [",".join("" if np.isnan(v) else f"{v:g}" for v in r) for r in np.column_stack([x, *ys])]
        (HERE / name).write_text("\n".join(["x0,x1,x2,x3,x4,x5,x6,x7,number,class,skewed", *rows]) + "\n")
    x, number, cls, skewed = train
    tx, tnumber, tcls, tskewed = test

    def boosted(objective, y, **extra):
        params = dict(objective=objective, tree_method="hist", max_depth=4, eta=0.1, reg_lambda=1, nthread=1, **extra)
        return xgb.train(params, xgb.DMatrix(x, y), 100).predict(xgb.DMatrix(tx))

    common = dict(max_iter=100, max_depth=4, learning_rate=0.1, l2_regularization=1, min_samples_leaf=5, early_stopping=False)
    half = lambda p: float(np.mean((p - tnumber) ** 2) / 2)
    pinball = lambda p: float(mean_pinball_loss(tskewed, p, alpha=0.9))
    write(
        "loss.json",
        squared={
            "xgboost": half(boosted("reg:squarederror", number)),
            "sklearn": half(HistGradientBoostingRegressor(**common).fit(x, number).predict(tx)),
        },
        quantile={
            "xgboost": pinball(boosted("reg:quantileerror", skewed, quantile_alpha=0.9)),
            "sklearn": pinball(HistGradientBoostingRegressor(loss="quantile", quantile=0.9, **common).fit(x, skewed).predict(tx)),
        },
        softmax={
            "xgboost": float(log_loss(tcls, boosted("multi:softprob", cls, num_class=4))),
            "sklearn": float(log_loss(tcls, HistGradientBoostingClassifier(**common).fit(x, cls).predict_proba(tx))),
        },
    )


def as_shap(tree):
    """Return a compact tree as arrays for shap.TreeExplainer. There a value <= threshold goes left, in XGBoost a value < cut."""
    a = {k: [] for k in ("children_left", "children_right", "children_default", "features", "thresholds", "values", "node_sample_weight")}

    def add(node):
        i = len(a["values"])
        leaf = len(node) == 2
        for k, v in zip(a, (-1, -1, -1, -1, 0.0, node[0] if leaf else 0.0, node[1] if leaf else node[4])):
            a[k].append(v)
        if not leaf:
            column, cut, missing_left, _, _, left, right = node
            a["features"][i], a["thresholds"][i] = column, np.nextafter(cut, -np.inf)
            a["children_left"][i] = add(left)
            a["children_right"][i] = add(right)
            a["children_default"][i] = a["children_left" if missing_left else "children_right"][i]
        return i

    add(tree)
    out = {k: np.array(v) for k, v in a.items()}
    out["values"] = out["values"].reshape(-1, 1)
    return out


def explained():
    rng = np.random.default_rng(3)
    x, number, cls, _ = sample(400, rng)
    rows, fits = x[:25], []
    for objective, y, outputs, rounds in [("reg:squarederror", number, 1, 8), ("multi:softprob", cls, 4, 3)]:
        params = dict(objective=objective, max_depth=5, eta=0.3, base_score=0.5, nthread=1)
        if outputs > 1:
            params["num_class"] = outputs
        all_trees = trees(xgb.train(params, xgb.DMatrix(x, y), rounds))
        phi, expected = [], []
        for c in range(outputs):
            # shap computes in float64 on the dumped trees; the SHAP values of XGBoost itself would be float32
            e = shap.TreeExplainer({"trees": [as_shap(t) for t in all_trees[c::outputs]], "input_dtype": np.float64}, feature_perturbation="tree_path_dependent")
            phi.append(np.reshape(e.shap_values(rows, check_additivity=False), (len(rows), 8)).tolist())
            expected.append(float(np.ravel(e.expected_value)[0]))
        fits.append({"outputs": outputs, "trees": all_trees, "expected": expected, "phi": phi})
    write("shap.json", x=nullable(rows), fits=fits)


split()
loss()
explained()
