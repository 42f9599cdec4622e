from . import viewer as viewer
from .analysis.diagnostics import decisions as decisions
from .analysis.diagnostics import name_sensitivity as name_sensitivity
from .analysis.diagnostics import predictions as predictions
from .analysis.diagnostics import unseen_features as unseen_features
from .analysis.explanations import attribute_weight as attribute_weight
from .analysis.explanations import under_two_namings as under_two_namings
from .analysis.failures import FailureKind as FailureKind
from .analysis.failures import diagnosis as diagnosis
from .analysis.failures import failure_of as failure_of
from .api import (
    as_recorded as as_recorded,
)
from .api import (
    diagnose as diagnose,
)
from .api import (
    evaluate as evaluate,
)
from .api import (
    train as train,
)
from .api import (
    train_on as train_on,
)
from .api import (
    train_split as train_split,
)
from .datasets.experts import expert_plans as expert_plans
from .datasets.experts import plan_of as plan_of
from .datasets.generation import canonical_form as canonical_form
from .datasets.generation import generate_problems as generate_problems
from .datasets.generation import with_names as with_names
from .datasets.importing import import_folder as import_folder
from .datasets.protocols import domain_instances as domain_instances
from .datasets.protocols import protocol_splits as protocol_splits
from .datasets.runs import Run as Run
from .datasets.runs import list_runs as list_runs
from .datasets.suite import list_suites as list_suites
from .datasets.suite import load_suite as load_suite
from .datasets.training_data import (
    Transition as Transition,
)
from .datasets.training_data import (
    load_training_data as load_training_data,
)
from .datasets.training_data import (
    trajectories as trajectories,
)
from .domains import get_domain as get_domain
from .encoders.fsf import FSFEncoder as FSFEncoder
from .encoders.marked_transition import MarkedConfig as MarkedConfig
from .encoders.marked_transition import MarkedTransitionEncoder as MarkedTransitionEncoder
from .encoders.text import TextConfig as TextConfig
from .encoders.tokens import Tokens as Tokens
from .encoders.tokens import Vocabulary as Vocabulary
from .encoders.trees import TreeConfig as TreeConfig
from .encoders.trees import tree_encoder as tree_encoder
from .encoders.wl import WLConfig as WLConfig
from .encoders.wl import WLEncoder as WLEncoder
from .encoders.wl_vocabulary import coloured_graph as coloured_graph
from .errors import SgpError as SgpError
from .evaluation.attempts import load_attempts as load_attempts
from .evaluation.retrieval import queries as queries
from .evaluation.retrieval import rank as rank
from .evaluation.retrieval import similarities as similarities
from .evaluation.scaling import ScalingConfig as ScalingConfig
from .evaluation.scaling import curve_scores as curve_scores
from .evaluation.scaling import half_width as half_width
from .evaluation.scores import load_scores as load_scores
from .evaluation.scores import wilson as wilson
from .experiments.grid import (
    ablation_cells as ablation_cells,
)
from .experiments.grid import (
    grid_cells as grid_cells,
)
from .experiments.grid import (
    learning_cells as learning_cells,
)
from .experiments.grid import (
    run_grid as run_grid,
)
from .experiments.grid import select as select
from .experiments.grid import trials_table as trials_table
from .experiments.joint import DynamicConfig as DynamicConfig
from .experiments.joint import joint_table as joint_table
from .experiments.joint import scaling as scaling
from .experiments.joint import scaling_subject as scaling_subject
from .experiments.joint import train_jointly as train_jointly
from .experiments.retrieval import RetrievalConfig as RetrievalConfig
from .experiments.retrieval import learners_of as learners_of
from .experiments.retrieval import retrieve as retrieve
from .methods import get_method as get_method
from .methods import list_methods as list_methods
from .methods.loading import load_model as load_model
from .methods.loading import load_planner as load_planner
from .methods.loading import load_portfolio as load_portfolio
from .methods.state_encoders import text_encoders as text_encoders
from .planning.lookahead import successors_for as successors_for
from .planning.pddl import Action as Action
from .planning.pddl import Problem as Problem
from .planning.pddl import format_plan as format_plan
from .planning.planner import Limit as Limit
from .planning.planner import Planner as Planner
from .planning.policy import Node as Node
from .planning.policy import Policy as Policy
from .planning.policy import Ranking as Ranking
from .planning.rollout import Outcome as Outcome
from .planning.rollout import Rollout as Rollout
from .planning.state_space import state_space as state_space
from .planning.task import Task as Task
from .planning.validation import validate as validate
from .reports.papers import paper_table as paper_table
from .reports.plots import (
    coverage_over_size as coverage_over_size,
)
from .reports.plots import (
    learning_curves as learning_curves,
)
from .reports.plots import (
    rates as rates,
)
from .reports.plots import (
    scaling_curves as scaling_curves,
)
from .reports.scaling_tables import scaling_sizes as scaling_sizes
from .reports.scaling_tables import scaling_table as scaling_table
from .reports.tables import coverage_table as coverage_table
from .reports.tables import learning_table as learning_table
from .reports.tables import pool_seeds as pool_seeds
from .solving import run_for as run_for
from .solving import solve as solve
from .viewer.export import export_html as export_html
from .viewer.library import own_rollouts_folder as own_rollouts_folder
from .viewer.library import recorded_rollouts as recorded_rollouts
from .viewer.notebook import Link as Link
from .viewer.notebook import link as link
from .viewer.notebook import show as show
from .viewer.pictures import (
    encoding_picture as encoding_picture,
)
from .viewer.pictures import (
    goal_picture as goal_picture,
)
from .viewer.pictures import (
    graph_picture as graph_picture,
)
from .viewer.pictures import (
    lookahead_picture as lookahead_picture,
)
from .viewer.pictures import (
    picture as picture,
)
from .viewer.pictures import (
    side_by_side as side_by_side,
)
from .workers import Cluster as Cluster

__version__: str
