"""Reporting: tables, plots and pages of measured and published numbers."""
