"""Drawings of scenes as SVG: those that domains describe as data, and one for any other domain."""
