"""Page: two rollouts of one problem side by side."""
