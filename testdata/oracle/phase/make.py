"""Updates of a Gaussian conditional RBM by numpy, for internal/ml/phase.

    pip install numpy && python make.py > crbm.json

Taylor, Hinton & Roweis (2006) with unit variance, one step of contrastive divergence (CD-1)
and momentum. Hidden units are sampled with the uniform draws in the file. The reconstruction
has the means of the visible units, not samples.
"""
import json
import sys

import numpy as np

rng = np.random.default_rng(25)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def update(p, velocity, windows, draws, rate, momentum, visible):
    """Update the parameters `p` and their velocities with one batch. A window contains past and present visible units."""
    past, now = windows[:, :-visible], windows[:, -visible:]
    a, b = p["visible_bias"] + past @ p["a"], p["hidden_bias"] + past @ p["b"]
    before = sigmoid(now @ p["w"] + b)
    sample = (draws < before).astype(float)
    again = sample @ p["w"].T + a
    after = sigmoid(again @ p["w"] + b)
    n = len(windows)
    gradient = {
        "w": (now.T @ before - again.T @ after) / n,
        "a": past.T @ (now - again) / n,
        "b": past.T @ (before - after) / n,
        "visible_bias": (now - again).mean(0),
        "hidden_bias": (before - after).mean(0),
    }
    for name in p:
        velocity[name] = momentum * velocity[name] + rate * gradient[name]
        p[name] = p[name] + velocity[name]


def flat(p):
    return {name: value.ravel().tolist() for name, value in p.items()}


cases = []
for visible, delay, hidden, n, steps in ((1, 3, 10, 8, 4), (2, 3, 10, 16, 8), (2, 5, 4, 7, 12)):
    past = visible * delay
    p = {
        "w": rng.normal(0, 0.1, (visible, hidden)), "a": rng.normal(0, 0.1, (past, visible)), "b": rng.normal(0, 0.1, (past, hidden)),
        "visible_bias": rng.normal(0, 0.1, visible), "hidden_bias": rng.normal(0, 0.1, hidden),
    }
    case = {"visible": visible, "delay": delay, "hidden": hidden, "rate": 0.01, "momentum": 0.9, "start": flat(p), "batches": []}
    velocity = {name: np.zeros_like(value) for name, value in p.items()}
    for _ in range(steps):
        windows, draws = rng.normal(size=(n, past + visible)).round(4), rng.uniform(size=(n, hidden)).round(6)
        update(p, velocity, windows, draws, case["rate"], case["momentum"], visible)
        case["batches"].append({"windows": windows.tolist(), "draws": draws.ravel().tolist()})
    case["end"] = flat(p)
    probe = rng.normal(size=(3, past + visible)).round(4)
    case["probe"] = probe.tolist()
    case["codes"] = sigmoid(probe[:, past:] @ p["w"] + p["hidden_bias"] + probe[:, :past] @ p["b"]).tolist()
    cases.append(case)
json.dump({"numpy": np.__version__, "cases": cases}, sys.stdout)
print()
