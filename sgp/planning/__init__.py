"""Planning problems and the one loop that solves them: tasks, policies, rollouts, validation, expert planners."""
