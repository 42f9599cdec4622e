"""The rollout player and its hosts. Nothing here imports torch, wlplan or pymimir: recorded rollouts show anywhere."""

from sgp import lazy_names

__all__, __getattr__ = lazy_names(
    __name__,
    {
        "sgp.viewer.animation": "gif",
        "sgp.viewer.branches": "Branch branch_rows override_words",
        "sgp.viewer.comparison": "expert_rollout",
        "sgp.viewer.export": "file_stem plan_text steps_csv steps_parquet",
        "sgp.viewer.library": "Library recorded_folder",
        "sgp.viewer.page": "html_page script",
        "sgp.viewer.pddl_text": "pddl_html",
        "sgp.viewer.playback": "drawn_state",
        "sgp.viewer.retrieved": "Retrieved RetrievedModel own_retrieved_folder retrieved_files retrieved_folder",
        "sgp.viewer.tour": "Tour read_tour tour_titles",
    },
)
