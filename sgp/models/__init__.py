"""Models: arrays in, arrays out; no word of planning."""
