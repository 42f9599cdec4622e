"""Models that map arrays to arrays, independent of planning."""
