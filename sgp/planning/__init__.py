"""Tasks, policies, the planning loop, rollouts, plan validation and expert planners."""
