"""Fit and store a model of boosted trees for the scoring server of MLflow.

loadaware exports no trees, so this script fits 300 boosted trees of depth 5 or less with scikit-learn, on
seeded data like that of scripts/bench-http/payload.go. The model returns one number; loadaware returns an
allocation with a ladder and a risk.

    python serve.py DIR        # writes DIR/model and DIR/payload.json
    mlflow models serve -m DIR/model -p PORT --env-manager local
"""

import json
import sys
from pathlib import Path

import mlflow.sklearn
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

folder = Path(sys.argv[1])
random = np.random.default_rng(1)
rows = 2500
table = pd.DataFrame(
    {
        "product_count": np.round(100 + 4900 * random.random(rows)),
        "days": random.integers(1, 61, rows).astype(float),
        "region": random.choice(["emea", "apac", "amer"], rows),
        "full": random.random(rows) < 0.25,
        "store_count": random.integers(0, 400, rows).astype(float),
        "price_points": random.integers(5, 25, rows).astype(float),
        "history_weeks": random.integers(26, 156, rows).astype(float),
        "discount": np.round(random.random(rows), 3),
        "elasticity": np.round(random.normal(size=rows), 3),
        "currency_rate": np.round(0.8 + 0.4 * random.random(rows), 3),
        "channel": [f"channel {i}" for i in random.integers(0, 12, rows)],
        "sale_end": random.integers(18262, 18622, rows).astype(float),
    }
)
peak = (0.4e9 + 4e6 * table["product_count"] * (table["days"] / 30) ** 0.8) * np.where(table["region"] == "emea", 1.4, 1.0)
peak = peak * np.where(table["full"], 2.0, 1.0) * np.exp(0.08 * random.normal(size=rows))
model = make_pipeline(
    make_column_transformer((OrdinalEncoder(), ["region", "channel"]), remainder="passthrough"),
    HistGradientBoostingRegressor(max_iter=300, max_depth=5, learning_rate=0.05, early_stopping=False, random_state=1),
)
model.fit(table, np.log(peak))
trusted = ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]  # MLflow does not load the model if this type is not listed
mlflow.sklearn.save_model(model, folder / "model", input_example=table.head(1), skops_trusted_types=trusted)
one = table.head(1).to_dict(orient="records")
(folder / "payload.json").write_text(json.dumps({"dataframe_records": one}, default=lambda v: v.item()))
