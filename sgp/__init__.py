"""Learned generalized planning: the public names, imported when they are first used.

So `sgp --help` and the viewer need neither torch nor pymimir. What only the dashboard and pages need of the viewer is
in `sgp.viewer`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[list[str], Callable[[str], Any]]:
    """The names of a package's `__all__`, and its `__getattr__`, which imports the module of a name."""
    module_of = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module '{package}' has no attribute '{name}'")
        try:
            return getattr(importlib.import_module(module_of[name]), name)
        except ModuleNotFoundError as error:
            from sgp.installed import missing

            raise missing(f"{package}.{name}", error) or error from error

    return sorted(module_of), get


__all__, _get = lazy_names(
    __name__,
    {
        "sgp.analysis.attention": "under_two_namings",
        "sgp.analysis.attribution": "attribute_weight",
        "sgp.analysis.diagnostics": "decisions predictions unseen_features",
        "sgp.analysis.failures": "Failure FailureKind diagnosis failure_of kind_of_outcome",
        "sgp.analysis.names": "name_sensitivity",
        "sgp.api": "as_recorded diagnose evaluate run_for solve train train_given train_split",
        "sgp.datasets.experts": "expert_plans plan_of",
        "sgp.datasets.generation": "generate_problems",
        "sgp.datasets.importing": "import_folder",
        "sgp.datasets.protocols": "domain_instances protocol_splits",
        "sgp.datasets.renaming": "canonical_form",
        "sgp.datasets.runs": "Run open_run run_folders",
        "sgp.datasets.suite": "load_suite suite_names",
        "sgp.datasets.training_data": "Transition load_training_data trajectories",
        "sgp.domains": "get_domain",
        "sgp.encoders.fsf": "FSFEncoder",
        "sgp.encoders.marked_transition": "MarkedConfig MarkedTransitionEncoder",
        "sgp.encoders.text": "TextConfig",
        "sgp.encoders.tokens": "Tokens Vocabulary",
        "sgp.encoders.trees": "TreeConfig tree_encoder",
        "sgp.encoders.wl": "WLConfig WLEncoder",
        "sgp.encoders.wl_vocabulary": "coloured_graph",
        "sgp.errors": "SgpError",
        "sgp.evaluation.attempts": "load_attempts recording_command subject_of",
        "sgp.evaluation.curve_scores": "curve_scores",
        "sgp.evaluation.dynamic_validation": "DynamicConfig",
        "sgp.evaluation.retrieval": "queries rank similarities",
        "sgp.evaluation.scaling": "ScalingConfig half_width",
        "sgp.evaluation.scores": "load_scores parse_scores wilson",
        "sgp.experiments.grid": "ablation_cells grid_cells learning_cells run_grid",
        "sgp.experiments.joint": "joint_table train_jointly",
        "sgp.experiments.retrieval": "RetrievalConfig learners_of retrieve",
        "sgp.experiments.scaling_runs": "scaling scaling_subject",
        "sgp.experiments.selection": "select trials_table",
        "sgp.methods": "get_method planning_method",
        "sgp.methods.loading": "load_model load_planner load_portfolio",
        "sgp.methods.texts": "text_encoders",
        "sgp.planning.lookahead": "successors_for",
        "sgp.planning.pddl": "Action Problem format_plan parse_plan with_names",
        "sgp.planning.planner": "Limit Planner",
        "sgp.planning.policy": "Node Policy Ranking",
        "sgp.planning.recorded": "Recorded",
        "sgp.planning.rollout": "Outcome Rollout",
        "sgp.planning.subject": "PlannerName Subject",
        "sgp.planning.task": "Task",
        "sgp.planning.validation": "validate",
        "sgp.reports.papers": "beside_ours paper_table",
        "sgp.reports.plots": (
            "coverage_over_size instance_map learning_curves plan_lengths "
            "rates scaling_curves solved_over_time two_planners"
        ),
        "sgp.reports.scaling_tables": "scaling_sizes scaling_table",
        "sgp.reports.tables": "coverage_table learning_table pool_seeds",
        "sgp.service.worker": "Report Worker",
        "sgp.viewer.comparison": "comparison",
        "sgp.viewer.library": "own_rollouts_folder recorded_rollouts",
        "sgp.viewer.notebook": "Link link show",
        "sgp.viewer.page": "export_html",
        "sgp.viewer.pictures": "encoding_picture goal_picture graph_picture lookahead_picture picture side_by_side",
        "sgp.viewer.playback": "playback",
        "sgp.workers": "Cluster",
    },
)


def __getattr__(name: str) -> Any:
    if name == "viewer":
        return importlib.import_module("sgp.viewer")
    globals()[name] = value = _get(name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "viewer"})
