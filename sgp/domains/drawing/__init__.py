"""Drawings of scenes as SVG: layouts that domains describe as data, and a generic drawing."""
