"""Contains all the data models used in inputs/outputs"""

from .activated import Activated
from .audit_entry import AuditEntry
from .audit_entry_after_type_0 import AuditEntryAfterType0
from .audit_entry_before_type_0 import AuditEntryBeforeType0
from .audit_page import AuditPage
from .baseline import Baseline
from .bins_type_0 import BinsType0
from .campaign import Campaign
from .campaign_archived_run import CampaignArchivedRun
from .campaign_archived_run_conf_type_0 import CampaignArchivedRunConfType0
from .campaign_branch import CampaignBranch
from .campaign_budget_type_0 import CampaignBudgetType0
from .campaign_claim import CampaignClaim
from .campaign_claim_request import CampaignClaimRequest
from .campaign_conf_type_0 import CampaignConfType0
from .campaign_count import CampaignCount
from .campaign_page import CampaignPage
from .campaign_registered import CampaignRegistered
from .campaign_release import CampaignRelease
from .campaign_release_request import CampaignReleaseRequest
from .campaign_request import CampaignRequest
from .campaign_request_conf_type_0 import CampaignRequestConfType0
from .campaign_reset_request import CampaignResetRequest
from .campaign_result_request import CampaignResultRequest
from .campaign_resume_request import CampaignResumeRequest
from .campaign_run import CampaignRun
from .campaign_run_conf_type_0 import CampaignRunConfType0
from .campaign_run_page import CampaignRunPage
from .campaign_runs_request import CampaignRunsRequest
from .campaign_state import CampaignState
from .campaign_task import CampaignTask
from .campaign_tasks import CampaignTasks
from .campaign_usage import CampaignUsage
from .cohort import Cohort
from .cpu_type_0 import CPUType0
from .dag_footprint import DagFootprint
from .dag_forecast import DagForecast
from .dag_structure import DagStructure
from .dag_task import DagTask
from .dag_task_forecast import DagTaskForecast
from .detailed_series_type_0 import DetailedSeriesType0
from .duration_type_0 import DurationType0
from .dwell_time_type_0 import DwellTimeType0
from .executed_plan_type_0 import ExecutedPlanType0
from .executed_resize import ExecutedResize
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
from .explanation import Explanation
from .explanation_chain_type_0 import ExplanationChainType0
from .explanation_term import ExplanationTerm
from .explanation_term_kind import ExplanationTermKind
from .failed_memory import FailedMemory
from .feature_field import FeatureField
from .feature_field_kind import FeatureFieldKind
from .features_type_0 import FeaturesType0
from .field_problem import FieldProblem
from .get_savings_by import GetSavingsBy
from .gpu_memory import GPUMemory
from .grant_quantiles import GrantQuantiles
from .grid import Grid
from .group import Group
from .guard import Guard
from .health import Health
from .health_status import HealthStatus
from .item_error import ItemError
from .killed_try_type_0 import KilledTryType0
from .lift import Lift
from .lift_request import LiftRequest
from .memory_type_0 import MemoryType0
from .metadata_type_0 import MetadataType0
from .mode import Mode
from .model_list import ModelList
from .model_type_0 import ModelType0
from .model_version import ModelVersion
from .model_version_exam_type_0 import ModelVersionExamType0
from .newest_run import NewestRun
from .next_phase import NextPhase
from .next_plan_type_0 import NextPlanType0
from .observation import Observation
from .observe_batch_answer import ObserveBatchAnswer
from .observe_batch_request import ObserveBatchRequest
from .outcome import Outcome
from .phase_answer import PhaseAnswer
from .phase_prototype import PhasePrototype
from .phase_request import PhaseRequest
from .phase_sample import PhaseSample
from .phase_transition import PhaseTransition
from .phased_run import PhasedRun
from .phases_mode import PhasesMode
from .plan import Plan
from .plan_cpu_savings_type_0 import PlanCPUSavingsType0
from .plan_savings import PlanSavings
from .plan_start import PlanStart
from .plan_step import PlanStep
from .planned_limit import PlannedLimit
from .policy import Policy
from .policy_request import PolicyRequest
from .policy_request_phases_type_1 import PolicyRequestPhasesType1
from .policy_request_phases_type_2_type_1 import PolicyRequestPhasesType2Type1
from .policy_request_phases_type_3_type_1 import PolicyRequestPhasesType3Type1
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
from .remaining_time_type_0 import RemainingTimeType0
from .report import Report
from .resources_type_0 import ResourcesType0
from .risk import Risk
from .risk_record import RiskRecord
from .run_time import RunTime
from .run_time_histogram import RunTimeHistogram
from .run_time_quantiles import RunTimeQuantiles
from .run_time_what_if import RunTimeWhatIf
from .savings import Savings
from .savings_by import SavingsBy
from .savings_row import SavingsRow
from .shape_membership import ShapeMembership
from .similar_run import SimilarRun
from .source import Source
from .static_advice import StaticAdvice
from .static_group import StaticGroup
from .static_request import StaticRequest
from .suggested_timeout import SuggestedTimeout
from .task_key import TaskKey
from .task_page import TaskPage
from .task_phase import TaskPhase
from .task_phases import TaskPhases
from .task_profile import TaskProfile
from .task_profile_exam_type_0 import TaskProfileExamType0
from .task_report import TaskReport
from .task_report_severity import TaskReportSeverity
from .task_summary import TaskSummary
from .task_usage_profile import TaskUsageProfile
from .training import Training
from .try_ import Try
from .usage_anomaly import UsageAnomaly
from .usage_profile import UsageProfile
from .usage_profile_detail import UsageProfileDetail
from .usage_profile_field import UsageProfileField
from .usage_profile_member import UsageProfileMember
from .usage_profile_metadata import UsageProfileMetadata
from .usage_profile_set import UsageProfileSet
from .usage_series_type_0 import UsageSeriesType0
from .usage_spread import UsageSpread
from .usage_type_0 import UsageType0
from .verdict import Verdict
from .voided import Voided
from .warning import Warning_
from .what_if import WhatIf
from .what_if_request import WhatIfRequest
from .what_if_result import WhatIfResult
from .what_if_settings import WhatIfSettings
from .what_if_shift import WhatIfShift
from .what_if_state import WhatIfState

__all__ = (
    "Activated",
    "AuditEntry",
    "AuditEntryAfterType0",
    "AuditEntryBeforeType0",
    "AuditPage",
    "Baseline",
    "BinsType0",
    "Campaign",
    "CampaignArchivedRun",
    "CampaignArchivedRunConfType0",
    "CampaignBranch",
    "CampaignBudgetType0",
    "CampaignClaim",
    "CampaignClaimRequest",
    "CampaignConfType0",
    "CampaignCount",
    "CampaignPage",
    "CampaignRegistered",
    "CampaignRelease",
    "CampaignReleaseRequest",
    "CampaignRequest",
    "CampaignRequestConfType0",
    "CampaignResetRequest",
    "CampaignResultRequest",
    "CampaignResumeRequest",
    "CampaignRun",
    "CampaignRunConfType0",
    "CampaignRunPage",
    "CampaignRunsRequest",
    "CampaignState",
    "CampaignTask",
    "CampaignTasks",
    "CampaignUsage",
    "Cohort",
    "CPUType0",
    "DagFootprint",
    "DagForecast",
    "DagStructure",
    "DagTask",
    "DagTaskForecast",
    "DetailedSeriesType0",
    "DurationType0",
    "DwellTimeType0",
    "ExecutedPlanType0",
    "ExecutedResize",
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
    "Explanation",
    "ExplanationChainType0",
    "ExplanationTerm",
    "ExplanationTermKind",
    "FailedMemory",
    "FeatureField",
    "FeatureFieldKind",
    "FeaturesType0",
    "FieldProblem",
    "GetSavingsBy",
    "GPUMemory",
    "GrantQuantiles",
    "Grid",
    "Group",
    "Guard",
    "Health",
    "HealthStatus",
    "ItemError",
    "KilledTryType0",
    "Lift",
    "LiftRequest",
    "MemoryType0",
    "MetadataType0",
    "Mode",
    "ModelList",
    "ModelType0",
    "ModelVersion",
    "ModelVersionExamType0",
    "NewestRun",
    "NextPhase",
    "NextPlanType0",
    "Observation",
    "ObserveBatchAnswer",
    "ObserveBatchRequest",
    "Outcome",
    "PhaseAnswer",
    "PhasedRun",
    "PhasePrototype",
    "PhaseRequest",
    "PhaseSample",
    "PhasesMode",
    "PhaseTransition",
    "Plan",
    "PlanCPUSavingsType0",
    "PlannedLimit",
    "PlanSavings",
    "PlanStart",
    "PlanStep",
    "Policy",
    "PolicyRequest",
    "PolicyRequestPhasesType1",
    "PolicyRequestPhasesType2Type1",
    "PolicyRequestPhasesType3Type1",
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
    "RemainingTimeType0",
    "Report",
    "ResourcesType0",
    "Risk",
    "RiskRecord",
    "RunTime",
    "RunTimeHistogram",
    "RunTimeQuantiles",
    "RunTimeWhatIf",
    "Savings",
    "SavingsBy",
    "SavingsRow",
    "ShapeMembership",
    "SimilarRun",
    "Source",
    "StaticAdvice",
    "StaticGroup",
    "StaticRequest",
    "SuggestedTimeout",
    "TaskKey",
    "TaskPage",
    "TaskPhase",
    "TaskPhases",
    "TaskProfile",
    "TaskProfileExamType0",
    "TaskReport",
    "TaskReportSeverity",
    "TaskSummary",
    "TaskUsageProfile",
    "Training",
    "Try",
    "UsageAnomaly",
    "UsageProfile",
    "UsageProfileDetail",
    "UsageProfileField",
    "UsageProfileMember",
    "UsageProfileMetadata",
    "UsageProfileSet",
    "UsageSeriesType0",
    "UsageSpread",
    "UsageType0",
    "Verdict",
    "Voided",
    "Warning_",
    "WhatIf",
    "WhatIfRequest",
    "WhatIfResult",
    "WhatIfSettings",
    "WhatIfShift",
    "WhatIfState",
)
