"""A schema from a sample of the input: what is there, what to do with it, and why."""

from __future__ import annotations

from treeanon.infer.model import Finding, Findings, LeftOut
from treeanon.infer.propose import propose
from treeanon.infer.render import render_schema

__all__ = ["Finding", "Findings", "LeftOut", "propose", "render_schema"]
