"""A model of the same form and size behind MLflow's own scoring server.

It is not the same trees: loadaware's are not exported. It is 300 boosted trees of
depth 5 by scikit-learn, fitted on seeded data of the same twelve features, as a
`mlflow.pyfunc` model in the way that MLflow's own documentation stores one. It
answers one number, where loadaware answers an allocation with bins, ladder and risk.

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

where = Path(sys.argv[1])
dice = np.random.default_rng(1)
rows = 2500
table = pd.DataFrame(
    {
        "product_count": np.round(100 + 4900 * dice.random(rows)),
        "days": dice.integers(1, 61, rows).astype(float),
        "region": dice.choice(["emea", "apac", "amer"], rows),
        "full": dice.random(rows) < 0.25,
        "store_count": dice.integers(0, 400, rows).astype(float),
        "price_points": dice.integers(5, 25, rows).astype(float),
        "history_weeks": dice.integers(26, 156, rows).astype(float),
        "discount": np.round(dice.random(rows), 3),
        "elasticity": np.round(dice.normal(size=rows), 3),
        "currency_rate": np.round(0.8 + 0.4 * dice.random(rows), 3),
        "channel": [f"channel {i}" for i in dice.integers(0, 12, rows)],
        "sale_end": dice.integers(18262, 18622, rows).astype(float),
    }
)
peak = (0.4e9 + 4e6 * table["product_count"] * (table["days"] / 30) ** 0.8) * np.where(table["region"] == "emea", 1.4, 1.0)
peak = peak * np.where(table["full"], 2.0, 1.0) * np.exp(0.08 * dice.normal(size=rows))
model = make_pipeline(
    make_column_transformer((OrdinalEncoder(), ["region", "channel"]), remainder="passthrough"),
    HistGradientBoostingRegressor(max_iter=300, max_depth=5, learning_rate=0.05, early_stopping=False, random_state=1),
)
model.fit(table, np.log(peak))
trusted = ["sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]  # of our own file
mlflow.sklearn.save_model(model, where / "model", input_example=table.head(1), skops_trusted_types=trusted)
one = table.head(1).to_dict(orient="records")
(where / "payload.json").write_text(json.dumps({"dataframe_records": one}, default=lambda v: v.item()))
