"""Contains all the data models used in inputs/outputs"""

from .activated import Activated
from .audit_entry import AuditEntry
from .audit_entry_after_type_0 import AuditEntryAfterType0
from .audit_entry_before_type_0 import AuditEntryBeforeType0
from .audit_page import AuditPage
from .bins_type_0 import BinsType0
from .cpu_type_0 import CPUType0
from .duration_type_0 import DurationType0
from .experiment import Experiment
from .experiment_model import ExperimentModel
from .experiment_model_request import ExperimentModelRequest
from .experiment_page import ExperimentPage
from .experiment_parameters_type_0 import ExperimentParametersType0
from .experiment_report_type_0 import ExperimentReportType0
from .experiment_request import ExperimentRequest
from .experiment_request_parameters import ExperimentRequestParameters
from .experiment_request_report import ExperimentRequestReport
from .experiment_request_rows_item import ExperimentRequestRowsItem
from .experiment_rows_type_0_item import ExperimentRowsType0Item
from .experiment_saved import ExperimentSaved
from .experiment_summary import ExperimentSummary
from .experiment_summary_parameters_type_0 import ExperimentSummaryParametersType0
from .failed_memory import FailedMemory
from .feature_field import FeatureField
from .feature_field_kind import FeatureFieldKind
from .features_type_0 import FeaturesType0
from .field_problem import FieldProblem
from .grid import Grid
from .group import Group
from .guard import Guard
from .health import Health
from .health_status import HealthStatus
from .item_error import ItemError
from .lift import Lift
from .lift_request import LiftRequest
from .memory_type_0 import MemoryType0
from .mode import Mode
from .model_list import ModelList
from .model_type_0 import ModelType0
from .model_version import ModelVersion
from .model_version_exam_type_0 import ModelVersionExamType0
from .observation import Observation
from .observe_batch_answer import ObserveBatchAnswer
from .observe_batch_request import ObserveBatchRequest
from .outcome import Outcome
from .policy import Policy
from .policy_request import PolicyRequest
from .predict_batch_answer import PredictBatchAnswer
from .predict_batch_request import PredictBatchRequest
from .predict_request import PredictRequest
from .prediction import Prediction
from .problem import Problem
from .quantiles_type_0 import QuantilesType0
from .quarantined import Quarantined
from .readiness import Readiness
from .readiness_observe import ReadinessObserve
from .readiness_status import ReadinessStatus
from .receipt import Receipt
from .recorded import Recorded
from .recorded_or_error import RecordedOrError
from .resources_type_0 import ResourcesType0
from .risk import Risk
from .risk_record import RiskRecord
from .source import Source
from .task_key import TaskKey
from .task_page import TaskPage
from .task_profile import TaskProfile
from .task_profile_exam_type_0 import TaskProfileExamType0
from .task_summary import TaskSummary
from .training import Training
from .try_ import Try
from .usage_series_type_0 import UsageSeriesType0
from .verdict import Verdict
from .voided import Voided
from .warning import Warning_

__all__ = (
    "Activated",
    "AuditEntry",
    "AuditEntryAfterType0",
    "AuditEntryBeforeType0",
    "AuditPage",
    "BinsType0",
    "CPUType0",
    "DurationType0",
    "Experiment",
    "ExperimentModel",
    "ExperimentModelRequest",
    "ExperimentPage",
    "ExperimentParametersType0",
    "ExperimentReportType0",
    "ExperimentRequest",
    "ExperimentRequestParameters",
    "ExperimentRequestReport",
    "ExperimentRequestRowsItem",
    "ExperimentRowsType0Item",
    "ExperimentSaved",
    "ExperimentSummary",
    "ExperimentSummaryParametersType0",
    "FailedMemory",
    "FeatureField",
    "FeatureFieldKind",
    "FeaturesType0",
    "FieldProblem",
    "Grid",
    "Group",
    "Guard",
    "Health",
    "HealthStatus",
    "ItemError",
    "Lift",
    "LiftRequest",
    "MemoryType0",
    "Mode",
    "ModelList",
    "ModelType0",
    "ModelVersion",
    "ModelVersionExamType0",
    "Observation",
    "ObserveBatchAnswer",
    "ObserveBatchRequest",
    "Outcome",
    "Policy",
    "PolicyRequest",
    "PredictBatchAnswer",
    "PredictBatchRequest",
    "Prediction",
    "PredictRequest",
    "Problem",
    "QuantilesType0",
    "Quarantined",
    "Readiness",
    "ReadinessObserve",
    "ReadinessStatus",
    "Receipt",
    "Recorded",
    "RecordedOrError",
    "ResourcesType0",
    "Risk",
    "RiskRecord",
    "Source",
    "TaskKey",
    "TaskPage",
    "TaskProfile",
    "TaskProfileExamType0",
    "TaskSummary",
    "Training",
    "Try",
    "UsageSeriesType0",
    "Verdict",
    "Voided",
    "Warning_",
)
