"""Encoders: states become vectors."""
