"""A schema proposed from a sample of the input, with the reason for each decision."""

from __future__ import annotations

from treeanon.infer.model import Finding, Findings, LeftOut
from treeanon.infer.propose import propose
from treeanon.infer.render import render_schema, summary_lines

__all__ = ["Finding", "Findings", "LeftOut", "propose", "render_schema", "summary_lines"]
