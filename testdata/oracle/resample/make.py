"""Nearest rows and categorical votes of imbalanced-learn, for internal/ml/resample.

    pip install imbalanced-learn==0.14.2 scikit-learn==1.9.1 numpy==2.4.6
    python make.py > smote.json

Numbers are standardised over the whole table, as by a StandardScaler before the
sampler. Then SMOTE or SMOTENC runs. For each row the script records the nearest
rows of its class (nn_num in the sampler). With categories it also records the codes
that win the vote of SMOTENC for a synthetic row made from this row. It collects these
codes over several seeds, because SMOTENC breaks ties at random.
"""
import json
import sys
from collections import Counter

import imblearn
import numpy as np
import sklearn
from imblearn.over_sampling import SMOTE, SMOTENC
from sklearn.preprocessing import StandardScaler

SEEDS = 40  # enough for each code of a tie to win at least once


def table(rng, sizes, numbers, categories):
    """Return columns of very different scales, numbers first, and overlapping classes."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    rng.shuffle(y)
    x = rng.normal(size=(len(y), numbers)) + 0.7 * y[:, None]
    x = x * 10.0 ** rng.integers(-2, 8, numbers) + 10.0 ** rng.integers(0, 4, numbers)
    codes = np.column_stack([rng.integers(0, c, len(y)) for c in categories]) if categories else np.empty((len(y), 0))
    return np.column_stack([np.round(x, 4), codes]), y


def watched(cls):
    """Return a subclass of a sampler that records the nearest rows and the winners of the votes."""
    class Watched(cls):
        def _make_samples(self, X, y_dtype, y_type, nn_data, nn_num, n_samples, *rest, **named):
            self.near[int(y_type)] = nn_num
            if cls is SMOTENC:
                every = np.arange(len(nn_num))
                sizes = [c.size for c in self.categorical_encoder_.categories_]
                data = X.copy()
                new = self._generate_samples(data, nn_data, nn_num, every, np.zeros_like(every), np.zeros((len(every), 1)), y_type)
                hot = np.split(new.toarray()[:, -sum(sizes):], np.cumsum(sizes)[:-1], axis=1)
                self.votes[int(y_type)] = np.column_stack([c[h.argmax(1)] for c, h in zip(self.categorical_encoder_.categories_, hot)])
            return super()._make_samples(X, y_dtype, y_type, nn_data, nn_num, n_samples, *rest, **named)
    return Watched


rng = np.random.default_rng(23)
cases = []
for sizes, numbers, categories, k in (((60, 25, 12), 4, [], 5), ((50, 30), 3, [3, 2], 5), ((40, 7, 20), 2, [4], 3), ((30, 5), 2, [2, 2, 3], 4)):
    x, y = table(rng, sizes, numbers, categories)
    scaled = np.column_stack([StandardScaler().fit_transform(x[:, :numbers]), x[:, numbers:]])
    near, votes = {}, {}
    for seed in range(SEEDS if categories else 1):
        sampler = watched(SMOTENC)(categorical_features=list(range(numbers, x.shape[1])), k_neighbors=k, random_state=seed) if categories \
            else watched(SMOTE)(k_neighbors=k, random_state=seed)
        sampler.near, sampler.votes = {}, {}
        _, resampled = sampler.fit_resample(scaled, y)
        for c, nn in sampler.near.items():
            rows = np.flatnonzero(y == c)
            for i, row in enumerate(rows):
                near[int(row)] = [int(r) for r in rows[nn[i]]]
                for j in range(len(categories)):
                    votes.setdefault(int(row), [set() for _ in categories])[j].add(int(sampler.votes[c][i][j]))
    cases.append({
        "numbers": numbers, "neighbours": k, "x": x.tolist(), "y": y.tolist(), "near": near,
        "votes": {row: [sorted(v) for v in sets] for row, sets in votes.items()},
        "counts": [Counter(resampled.tolist())[c] for c in range(len(sizes))],
    })
json.dump({"made_with": f"imbalanced-learn {imblearn.__version__}, scikit-learn {sklearn.__version__}, numpy {np.__version__}", "cases": cases}, sys.stdout, separators=(",", ":"))
