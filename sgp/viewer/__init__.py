"""The rollout player and its hosts. Nothing here imports torch, wlplan or pymimir: recorded rollouts show anywhere."""
