"""Learned generalized planning: the facade of the suite.

Names are imported when they are first used, so that `sgp --help` and the viewer need neither torch nor pymimir.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sgp.api import Evaluation as Evaluation
    from sgp.api import as_recorded as as_recorded
    from sgp.api import diagnose as diagnose
    from sgp.api import evaluate as evaluate
    from sgp.api import fitting as fitting
    from sgp.api import map_run as map_run
    from sgp.api import solve as solve
    from sgp.api import train as train
    from sgp.api import train_given as train_given
    from sgp.estimator import Estimator as Estimator
    from sgp.experiments.scaling_runs import scaling as scaling
    from sgp.experiments.scaling_runs import scaling_subject as scaling_subject
    from sgp.methods.loading import load_planner as load_planner

_HOMES = {
    "sgp.api": (
        "Evaluation",
        "as_recorded",
        "diagnose",
        "evaluate",
        "fitting",
        "map_run",
        "solve",
        "train",
        "train_given",
        "train_lesson",
    ),
    "sgp.datasets.experts": (
        "expert_plans",
        "plan_of",
    ),
    "sgp.datasets.generation": ("generate_problems", "generate_suite"),
    "sgp.datasets.importing": ("import_folder",),
    "sgp.datasets.renaming": ("canonical_form",),
    "sgp.datasets.runs": ("Run", "list_runs", "open_run", "run_folders"),
    "sgp.datasets.suite": ("Suite", "load_suite", "suite_names"),
    "sgp.datasets.protocols": ("Lesson", "domain_instances", "lessons"),
    "sgp.datasets.training_data": ("Demonstrations", "Transition", "load_training_data", "trajectories"),
    "sgp.domains": ("all_domains", "get_domain"),
    "sgp.encoders.fsf": ("FSFEncoder",),
    "sgp.encoders.marked_transition": ("MarkedConfig", "MarkedTransitionEncoder"),
    "sgp.encoders.node_colours": ("ColouredGraph", "coloured_graph"),
    "sgp.encoders.pairs": ("tree_encoder",),
    "sgp.encoders.text": ("TextConfig",),
    "sgp.encoders.tokens": ("Tokens", "Vocabulary"),
    "sgp.encoders.trees": ("TreeConfig",),
    "sgp.encoders.wl": ("WLConfig", "WLEncoder"),
    "sgp.errors": ("SgpError",),
    "sgp.estimator": ("Estimator",),
    "sgp.evaluation.attempts": ("AttemptRow",),
    "sgp.evaluation.curves": ("curve_scores",),
    "sgp.analysis.attention": ("TwoNamings", "under_two_namings"),
    "sgp.analysis.diagnostics": ("decisions", "perfect_prediction", "unseen_features"),
    "sgp.analysis.names": ("name_sensitivity",),
    "sgp.evaluation.dynamic_validation": ("DynamicConfig",),
    "sgp.analysis.blame": ("Blame", "Culprit", "blame"),
    "sgp.analysis.diagnosis": ("Remark", "diagnosis"),
    "sgp.analysis.explanations": ("Explanation", "explain"),
    "sgp.analysis.failures": ("Failure", "FailureKind", "Finding", "failure_of", "kind_of_outcome"),
    "sgp.reports.learning_plots": ("learning_figure",),
    "sgp.reports.learning_table": ("learning_sheet", "measured_learning"),
    "sgp.reports.overview": ("coverage_rows", "instance_map", "planner_title", "recording_command"),
    "sgp.reports.papers": ("all_papers", "beside_ours", "paper_sheet", "published"),
    "sgp.reports.plots": (
        "coverage_over_size",
        "plan_lengths",
        "solved_over_time",
    ),
    "sgp.analysis.predictions": (
        "Prediction",
        "predictions",
    ),
    "sgp.analysis.remaining": ("Remaining", "remaining"),
    "sgp.evaluation.metrics": ("metric_of",),
    "sgp.evaluation.properties": ("Sample",),
    "sgp.evaluation.rates": (
        "Rate",
        "rates",
    ),
    "sgp.evaluation.retrieval": ("Query", "Rank", "queries", "rank", "similarities"),
    "sgp.evaluation.scaling": (
        "Curve",
        "Measured",
        "ScalingConfig",
    ),
    "sgp.reports.scaling_plots": ("scaling_curves",),
    "sgp.reports.scaling_table": ("ScalingSizes", "is_scaling", "measured_scaling", "scaling_sizes", "scaling_table"),
    "sgp.evaluation.scores": ("Measurement", "Score", "parse_scores", "read_scores", "wilson", "write_scores"),
    "sgp.evaluation.subjects": ("subject_of",),
    "sgp.evaluation.sequential": ("half_width",),
    "sgp.reports.tables": ("coverage_of", "coverage_sheet", "measured", "measured_attempts"),
    "sgp.reports.two_planners": ("two_planners",),
    "sgp.experiments.grid": ("ablation_cells", "baseline_results", "grid_cells", "run_grid"),
    "sgp.experiments.learning_curve": ("learning_cells",),
    "sgp.experiments.retrieval": ("Asked", "learners_of", "retrieve"),
    "sgp.experiments.retrieval_record": ("record_retrievals",),
    "sgp.reports.retrieval_table": ("retrieval_sheet",),
    "sgp.experiments.joint": ("JointTraining", "Validated", "joint_sheet", "train_jointly"),
    "sgp.methods": ("all_methods", "get_method", "method_keys", "planning_method"),
    "sgp.methods.texts": ("text_encoders",),
    "sgp.methods.loading": ("load_model", "load_planner", "load_portfolio"),
    "sgp.planning.pddl": ("Action", "Atom", "Problem", "format_plan", "parse_plan"),
    "sgp.planning.planner": ("Limit", "Planner"),
    "sgp.planning.policy": ("Node", "Policy", "Ranking"),
    "sgp.planning.reach": ("successors_for",),
    "sgp.planning.renaming": ("with_names",),
    "sgp.planning.recorded": ("Recorded", "read_recorded"),
    "sgp.planning.recording": ("read_rollouts", "write_rollouts"),
    "sgp.planning.rollout": ("Outcome", "Rollout"),
    "sgp.planning.subject": ("PlannerName", "Subject"),
    "sgp.planning.task": ("Task",),
    "sgp.planning.trajectory": ("Trajectory",),
    "sgp.planning.validation": ("validate",),
    "sgp.experiments.scaling_runs": ("scaling", "scaling_subject"),
    "sgp.experiments.selection": ("select", "trials_sheet"),
    "sgp.viewer.animation": ("gif",),
    "sgp.viewer.branches": ("Branch", "Compared", "branch_script", "compared", "draw_branches", "forcing_words"),
    "sgp.viewer.comparison": ("comparison", "expert_rollout"),
    "sgp.viewer.export": ("file_stem", "plan_text", "steps_csv", "steps_parquet"),
    "sgp.viewer.library": ("Library", "own_rollouts_folder", "recorded_folder", "recorded_rollouts"),
    "sgp.viewer.notebook": ("Link", "link", "show"),
    "sgp.viewer.page": ("compare_script", "export_html", "guess_script", "html_page", "player_script"),
    "sgp.viewer.pddl_text": ("pddl_html",),
    "sgp.viewer.pictures": (
        "Picture",
        "encoding_picture",
        "goal_picture",
        "graph_picture",
        "lookahead_picture",
        "picture",
        "side_by_side",
    ),
    "sgp.viewer.playback": ("drawn_state", "playback"),
    "sgp.viewer.retrieved": (
        "Found",
        "Near",
        "Retrieved",
        "RetrievedModel",
        "own_retrieved_folder",
        "retrieved_files",
        "retrieved_folder",
    ),
    "sgp.viewer.tour": ("Tour", "read_tour", "tour_script", "tour_titles"),
    "sgp.service.client": ("Report", "Worker"),
    "sgp.workers": ("Cluster",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  computed from the table above


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'sgp' has no attribute '{name}'")
    try:
        value = getattr(importlib.import_module(_HOME_OF[name]), name)
    except ModuleNotFoundError as error:
        from sgp.installed import missing

        raise missing(f"sgp.{name}", error) or error from error
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
