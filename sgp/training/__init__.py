"""Training loops and model selection."""
