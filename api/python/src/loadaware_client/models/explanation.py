from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.mode import Mode
from ..models.source import Source

if TYPE_CHECKING:
    from ..models.explanation_chain_type_0 import ExplanationChainType0
    from ..models.explanation_term import ExplanationTerm
    from ..models.killed_try_type_0 import KilledTryType0
    from ..models.model_type_0 import ModelType0
    from ..models.risk import Risk
    from ..models.similar_run import SimilarRun


T = TypeVar("T", bound="Explanation")


@_attrs_define
class Explanation:
    """
    Attributes:
        namespace (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        dag_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        task_id (str): Depending on the field, names a namespace, a DAG or a task; the example names a task. 1 to 250
            characters except control characters and /. Example: predict_demand.
        granted_bytes (int): The `limit_bytes` of the answer.
        base_bytes (int): The start of the chain. Without terms it equals `granted_bytes`.
        base (str): The meaning of `base_bytes`.
        expected_bytes (int | None): The expected peak, before margins; null if no model predicts it or `terms` is
            empty. If `base` is "the amount before guard and bounds", `expected_bytes` is that amount.
        terms (list[ExplanationTerm]): Factors in the order in which they apply.
        shadow (ExplanationChainType0 | None): The chain of the grant that enforce mode would give; null except in
            shadow mode.
        nearest (list[SimilarRun]): The most similar other runs that ended before the answer, each with one try, nearest
            first; at most five.
        ladder_bytes (list[int]): The grant, then the lift after each OOM kill.
        risk (Risk):
        source (Source): `model`: the task's own model. `profile`: the task's short history, mostly by a Bayesian
            average of simple models; or,
            while the model is not in memory, the task's largest peak and kill. `cohort`: similar tasks. `requested`: the
            static
            request, because nothing better is known, or because the mode is `shadow` or `off`. `lift`: an earlier try of
            this run
            was OOM-killed.
        mode (Mode): `enforce` grants the prediction; `shadow` grants the static request and shows the prediction in the
            field `shadow`; `off` grants the static request.
        model (ModelType0 | None):
        reason (str): The `reason` in the answer of /predict.
        killed (KilledTryType0 | None): Why the try was OOM-killed, and which amount would have held.
        note (None | str): Why the chain is incomplete; null if it is complete. For a recorded lift or a recorded answer
            by similar tasks, it may be null although the chain has no factors of single features.
        text (str): The explanation as one paragraph.
    """

    namespace: str
    dag_id: str
    task_id: str
    granted_bytes: int
    base_bytes: int
    base: str
    expected_bytes: int | None
    terms: list[ExplanationTerm]
    shadow: ExplanationChainType0 | None
    nearest: list[SimilarRun]
    ladder_bytes: list[int]
    risk: Risk
    source: Source
    mode: Mode
    model: ModelType0 | None
    reason: str
    killed: KilledTryType0 | None
    note: None | str
    text: str

    def to_dict(self) -> dict[str, Any]:
        from ..models.explanation_chain_type_0 import ExplanationChainType0
        from ..models.killed_try_type_0 import KilledTryType0
        from ..models.model_type_0 import ModelType0

        namespace = self.namespace

        dag_id = self.dag_id

        task_id = self.task_id

        granted_bytes = self.granted_bytes

        base_bytes = self.base_bytes

        base = self.base

        expected_bytes: int | None
        expected_bytes = self.expected_bytes

        terms = []
        for terms_item_data in self.terms:
            terms_item = terms_item_data.to_dict()
            terms.append(terms_item)

        shadow: dict[str, Any] | None
        if isinstance(self.shadow, ExplanationChainType0):
            shadow = self.shadow.to_dict()
        else:
            shadow = self.shadow

        nearest = []
        for nearest_item_data in self.nearest:
            nearest_item = nearest_item_data.to_dict()
            nearest.append(nearest_item)

        ladder_bytes = self.ladder_bytes

        risk = self.risk.to_dict()

        source = self.source.value

        mode = self.mode.value

        model: dict[str, Any] | None
        if isinstance(self.model, ModelType0):
            model = self.model.to_dict()
        else:
            model = self.model

        reason = self.reason

        killed: dict[str, Any] | None
        if isinstance(self.killed, KilledTryType0):
            killed = self.killed.to_dict()
        else:
            killed = self.killed

        note: None | str
        note = self.note

        text = self.text

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "namespace": namespace,
                "dag_id": dag_id,
                "task_id": task_id,
                "granted_bytes": granted_bytes,
                "base_bytes": base_bytes,
                "base": base,
                "expected_bytes": expected_bytes,
                "terms": terms,
                "shadow": shadow,
                "nearest": nearest,
                "ladder_bytes": ladder_bytes,
                "risk": risk,
                "source": source,
                "mode": mode,
                "model": model,
                "reason": reason,
                "killed": killed,
                "note": note,
                "text": text,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.explanation_chain_type_0 import ExplanationChainType0
        from ..models.explanation_term import ExplanationTerm
        from ..models.killed_try_type_0 import KilledTryType0
        from ..models.model_type_0 import ModelType0
        from ..models.risk import Risk
        from ..models.similar_run import SimilarRun

        d = dict(src_dict)
        namespace = d.pop("namespace")

        dag_id = d.pop("dag_id")

        task_id = d.pop("task_id")

        granted_bytes = d.pop("granted_bytes")

        base_bytes = d.pop("base_bytes")

        base = d.pop("base")

        def _parse_expected_bytes(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        expected_bytes = _parse_expected_bytes(d.pop("expected_bytes"))

        terms = []
        _terms = d.pop("terms")
        for terms_item_data in _terms:
            terms_item = ExplanationTerm.from_dict(terms_item_data)

            terms.append(terms_item)

        def _parse_shadow(data: object) -> ExplanationChainType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_explanation_chain_type_0 = ExplanationChainType0.from_dict(data)

                return componentsschemas_explanation_chain_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ExplanationChainType0 | None, data)

        shadow = _parse_shadow(d.pop("shadow"))

        nearest = []
        _nearest = d.pop("nearest")
        for nearest_item_data in _nearest:
            nearest_item = SimilarRun.from_dict(nearest_item_data)

            nearest.append(nearest_item)

        ladder_bytes = cast(list[int], d.pop("ladder_bytes"))

        risk = Risk.from_dict(d.pop("risk"))

        source = Source(d.pop("source"))

        mode = Mode(d.pop("mode"))

        def _parse_model(data: object) -> ModelType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_model_type_0 = ModelType0.from_dict(data)

                return componentsschemas_model_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ModelType0 | None, data)

        model = _parse_model(d.pop("model"))

        reason = d.pop("reason")

        def _parse_killed(data: object) -> KilledTryType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                componentsschemas_killed_try_type_0 = KilledTryType0.from_dict(data)

                return componentsschemas_killed_try_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(KilledTryType0 | None, data)

        killed = _parse_killed(d.pop("killed"))

        def _parse_note(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        note = _parse_note(d.pop("note"))

        text = d.pop("text")

        explanation = cls(
            namespace=namespace,
            dag_id=dag_id,
            task_id=task_id,
            granted_bytes=granted_bytes,
            base_bytes=base_bytes,
            base=base,
            expected_bytes=expected_bytes,
            terms=terms,
            shadow=shadow,
            nearest=nearest,
            ladder_bytes=ladder_bytes,
            risk=risk,
            source=source,
            mode=mode,
            model=model,
            reason=reason,
            killed=killed,
            note=note,
            text=text,
        )

        return explanation
