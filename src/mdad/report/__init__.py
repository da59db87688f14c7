"""Reports: a typed summary of an audit, and renderings of it. Renderings compute nothing."""

from __future__ import annotations

from mdad.report.summary import AuditSummary, summarize

__all__ = ["AuditSummary", "summarize"]
