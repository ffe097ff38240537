"""An experiment with XGBoost, libsvm and imbalanced-learn, as the reference for internal/experiment.

    pip install xgboost-cpu==3.2.0 scikit-learn==1.9.1 imbalanced-learn==0.14.2 numpy==2.4.6 pandas==3.1.1
    python make.py                         # writes history.csv and libraries.json beside this script
    python make.py --table rows.json       # ... and prints the results of the libraries and of loadaware in one table

    # with another history; writes no files
    python make.py --trace retail.csv.gz --task predict_demand --bins 30,350 --seeds 3 --table rows.json

rows.json contains the results of loadaware for the same history, tasks, bins and seeds. For history.csv:

    loadaware experiment run --trace history.csv --bins load=4,16,64 --seeds 10 --oversampling none,random,smote \
        --families softmax-trees-argmax,softmax-trees,svm,final -o json > rows.json

A generator with a fixed seed makes history.csv. The script recomputes the splits of loadaware. It sorts the rows by time
and groups them by bin. One PCG, seeded with (seed, 0), shuffles the rows of each bin, in the order of the bins. The first
70 % of the rows of a bin (rounded half away from zero) are training rows, the others test rows. The libraries and
loadaware see the same columns: numbers, one-hot categories, dates as days, the differences of dates, weekdays and
months. A category that only test rows have gets no column. Rows are oversampled before they are encoded. Both boosters
(XGBoost, and softmax-trees of loadaware) have 100 rounds, depth 4 and a learning rate of 0.1. Both SVMs have an RBF
kernel, C = 1 and gamma = 1/(columns * variance). All other parameters are the defaults of the library; none is tuned.

Each row gets two decisions. `argmax` is the most probable bin. `cost` is the bin of least expected cost, where an
over-estimate costs 1 and an under-estimate 10; if two bins cost the same, it is the larger bin.

u scores of the decision `cost` for a synthetic trace of the two heavy tasks of a pricing pipeline (1,460 rows each, 3 seeds,
without oversampling). A row has the u scores for 2 / 3 / 4 bins, first of one task, then of the other:

    XGBoost                     0.5 /  5.1 / 12.0    2.4 /  9.2 / 14.9
    SVC of scikit-learn         4.8 / 13.7 / 18.0    5.6 / 11.1 / 19.1
    softmax-trees of loadaware  3.5 /  6.5 / 14.4    2.2 / 18.3 / 19.5
    svm of loadaware            4.0 / 11.6 / 17.3    4.5 /  9.4 / 16.9
    final of loadaware          0.4 /  3.3 /  8.9    0.8 /  2.3 /  2.9
"""
import argparse
import json
import math
import pathlib
import warnings

import imblearn
import numpy as np
import pandas as pd
import sklearn
import xgboost as xgb
from imblearn.over_sampling import SMOTENC, RandomOverSampler
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

HERE = pathlib.Path(__file__).parent
VERSIONS = {m.__name__: m.__version__ for m in (np, pd, sklearn, imblearn, xgb)}
PENALTY = 10
NEIGHBOURS = 5


class PCG:
    """Go's math/rand/v2: PCG-DXSM with 128 bits of state, and rand.Shuffle by Lemire's method."""

    def __init__(self, high, low):
        self.state = high << 64 | low

    def next(self):
        self.state = (self.state * (2549297995355413924 << 64 | 4865540595714422341) + (6364136223846793005 << 64 | 1442695040888963407)) % 2**128
        high, low = self.state >> 64, self.state % 2**64
        high ^= high >> 32
        high = high * 0xDA942042E4DD58B5 % 2**64
        high ^= high >> 48
        return high * (low | 1) % 2**64

    def below(self, n):
        """Return a random number from 0 to n - 1."""
        if n & (n - 1) == 0:
            return self.next() % 2**32 & (n - 1)
        product = self.next() * n
        while product % 2**64 < 2**64 % n:
            product = self.next() * n
        return product >> 64

    def shuffle(self, rows):
        for i in range(len(rows) - 1, 0, -1):
            j = self.below(i + 1)
            rows[i], rows[j] = rows[j], rows[i]


def split(bins, seed):
    """Return the training and the test rows, as loadaware splits them with this seed. `bins` contains the bin of each row."""
    rng, train, test = PCG(seed, 0), [], []
    for b in range(bins.max() + 1):
        rows = np.flatnonzero(bins == b).tolist()
        rng.shuffle(rows)
        cut = math.floor(0.7 * len(rows) + 0.5)
        train, test = train + rows[:cut], test + rows[cut:]
    return sorted(train), sorted(test)


def generate(path):
    """Write a history of one task: 360 runs whose peak is a product of functions of the number of products, the days and the region, with noise of 15 %."""
    rng = np.random.default_rng(23)
    rows = []
    for i in range(360):
        at = pd.Timestamp("2025-01-01") + pd.Timedelta(hours=6 * i)
        region = str(rng.choice(["emea", "apac", "amer"], p=[0.5, 0.3, 0.2]))
        products = int(np.exp(rng.uniform(np.log(100), np.log(3000))))
        start = at.normalize() + pd.Timedelta(days=int(rng.integers(0, 20)))
        days = int(rng.integers(7, 90))
        peak = 2.2e9 * (products / 500) ** 0.9 * (days / 30) ** 0.6 * {"emea": 1, "apac": 1.6, "amer": 0.7}[region] * np.exp(0.15 * rng.normal())
        rows.append(dict(
            dag_id="etl", task_id="load", run_id=f"run-{i:03d}", started_at=at.strftime("%Y-%m-%dT%H:%M:%SZ"),
            duration_s=round(60 + peak / 5e7, 1), memory_requested_bytes=64_000_000_000, memory_max_bytes=int(peak),
            **{"feature.region": region, "feature.products": products, "feature.start": start.date().isoformat(),
               "feature.end": (start + pd.Timedelta(days=days)).date().isoformat()}))
    pd.DataFrame(rows).to_csv(path, index=False, lineterminator="\n")


class History:
    """The features of one task's rows, in order of time, and their peaks."""

    def __init__(self, path, task):
        table = pd.read_csv(path, keep_default_na=False)
        table = table[(table.task_id == task) & (table.memory_max_bytes != "")]
        table = table.iloc[np.argsort(pd.to_datetime(table.started_at, utc=True), kind="stable")].reset_index(drop=True)
        self.peaks = table.memory_max_bytes.astype(float).to_numpy()
        raw = table[[c for c in table if c.startswith("feature.")]]
        self.dates = [c for c in raw if pd.to_datetime(raw[c].astype(str), format="%Y-%m-%d", errors="coerce").notna().all()]
        self.texts = [c for c in raw if c not in self.dates and pd.to_numeric(raw[c], errors="coerce").isna().any()]
        self.raw = raw.copy()
        for c in self.dates:
            self.raw[c] = (pd.to_datetime(raw[c]) - pd.Timestamp("1970-01-01")).dt.days.astype(float)
        for c in self.raw:
            if c not in self.dates + self.texts:
                self.raw[c] = pd.to_numeric(raw[c]).astype(float)

    def encode(self, raw, levels):
        """Return the columns of the rows `raw`. `levels` contains the values of each category in the training rows."""
        out = {c: raw[c] for c in raw if c not in self.texts}
        for c in self.texts:
            out |= {f"{c}={level}": (raw[c] == level).astype(float) for level in levels[c]}
        for i, c in enumerate(self.dates):
            out |= {f"{c} weekday": (raw[c] + 4) % 7, f"{c} month": raw[c] // (365.25 / 12) % 12}
            out |= {f"{c}-{before}": raw[c] - raw[before] for before in self.dates[:i]}
        return pd.DataFrame(out).to_numpy(dtype=float)


def oversample(how, raw, y, texts, seed):
    """Return the training rows and their bins, oversampled by the method `how`: "none", "random" or "smote"."""
    counts = np.bincount(y)
    if how == "none" or counts[counts > 0].size < 2:
        return raw, y
    if how == "random":
        return RandomOverSampler(random_state=seed).fit_resample(raw, y)
    tiny = [c for c, n in enumerate(counts) if 0 < n <= NEIGHBOURS]  # SMOTE needs NEIGHBOURS + 1 rows; the missing ones are drawn at random
    if tiny:
        raw, y = RandomOverSampler(sampling_strategy={c: NEIGHBOURS + 1 for c in tiny}, random_state=seed).fit_resample(raw, y)
    numbers = [c for c in raw if c not in texts]
    mean, deviation = raw[numbers].mean(), raw[numbers].std(ddof=0)
    scaled = raw.copy()
    scaled[numbers] = (raw[numbers] - mean) / deviation  # SMOTENC does not scale
    made, y = SMOTENC(texts, k_neighbors=NEIGHBOURS, random_state=seed).fit_resample(scaled, y)
    made[numbers] = (made[numbers] * deviation + mean).round()  # these features are counts and days, which are integers
    return made, y


def xgboost(x, y, bins, seed):
    present = np.unique(y)  # XGBoost needs the classes 0 ... k-1, each with at least one row
    fit = xgb.XGBClassifier(n_estimators=100, max_depth=4, learning_rate=0.1, random_state=seed, n_jobs=1)
    fit.fit(x, np.searchsorted(present, y))
    return spread(fit.predict_proba, present, bins)


def svc(x, y, bins, seed):
    fit = make_pipeline(StandardScaler(), SVC(probability=True, random_state=seed)).fit(x, y)  # libsvm's own Platt scaling and coupling
    return spread(fit.predict_proba, np.unique(y), bins)


def spread(predict, present, bins):
    """Return a function that predicts the probability of every bin; 0 for the bins that no training row has."""
    def probabilities(x):
        p = np.zeros((len(x), bins))
        p[:, present] = predict(x)
        return p
    return probabilities


def cost(p):
    """Return the bin of least expected cost for each row of probabilities."""
    below = np.cumsum(p, 1) - p
    expected = below + PENALTY * (p.sum(1, keepdims=True) - below - p)
    return p.shape[1] - 1 - np.argmin(expected[:, ::-1], axis=1)


DECISIONS = {"argmax": lambda p: p.argmax(1), "cost": cost}


def experiment(path, task, edges, seeds):
    """Return the result of each library, oversampling, decision and seed, and the test rows by seed."""
    history = History(path, task)
    bins = np.minimum(np.searchsorted(np.array(edges) * 1e9, history.peaks), len(edges) - 1)
    rows, splits = [], []
    for seed in range(seeds):
        train, test = split(bins, seed)
        splits.append(test)
        raw = history.raw.iloc[train]
        levels = {c: sorted(raw[c].unique()) for c in history.texts}
        test_x = history.encode(history.raw.iloc[test], levels)
        for how in ("none", "random", "smote"):
            more, y = oversample(how, raw, bins[train], history.texts, seed)
            x = history.encode(more, levels)
            for family, fit in (("xgboost", xgboost), ("svc", svc)):
                p = fit(x, y, len(edges), seed)(test_x)
                for decision, decide in DECISIONS.items():
                    granted, actual = decide(p), bins[test]
                    under = granted < actual
                    rows.append({
                        "task": task, "bins_gb": edges, "family": family, "oversampling": how, "decision": decision, "seed": seed,
                        "accuracy": round(float(np.mean(granted == actual)), 6), "u_rate": round(float(under.mean()), 6),
                        "u_score": round(float(100 * (np.mean(granted > actual) + PENALTY * under.mean())), 6)})
    return rows, splits


def compare(libraries, loadaware):
    """Print the means over the seeds: first the libraries, then loadaware's families."""
    ours = pd.DataFrame([dict(r, decision="argmax" if r["family"].endswith("-argmax") else "cost") for r in loadaware])
    both = pd.concat([pd.DataFrame(libraries), ours.assign(family="loadaware " + ours.family)])
    both["bins"] = both.bins_gb.map(lambda edges: ";".join(f"{e:g}" for e in edges))
    means = both.groupby(["task", "bins", "decision", "family", "oversampling"], sort=False)[["u_score", "accuracy", "u_rate"]].mean()
    print(means.unstack("oversampling")[["u_score", "accuracy"]].to_string(float_format="{:.3f}".format, na_rep="-"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trace", type=pathlib.Path)
    parser.add_argument("--task", default="load")
    parser.add_argument("--bins", action="append", help="upper edges in GB, ascending; may be repeated")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--table", type=pathlib.Path)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", category=FutureWarning)
    if args.trace is None:
        generate(HERE / "history.csv")
    rows, splits = [], []
    for edges in args.bins or ["4,16,64"]:
        more, splits = experiment(args.trace or HERE / "history.csv", args.task, [float(e) for e in edges.split(",")], args.seeds)
        rows += more
    if args.trace is None:
        (HERE / "libraries.json").write_text(json.dumps({"versions": VERSIONS, "held_back": splits, "rows": rows}, separators=(",", ":")) + "\n")
    if args.table:
        compare(rows, json.loads(args.table.read_text())["rows"])


if __name__ == "__main__":
    main()
