"""Compiled kernels of the encoders."""
