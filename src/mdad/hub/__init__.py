"""Fetch: evaluation details of models from a public leaderboard on the Hugging Face hub."""

from __future__ import annotations

from mdad.hub._fetch import LEADERBOARDS, Fetched, Part, fetch

__all__ = ["LEADERBOARDS", "Fetched", "Part", "fetch"]
