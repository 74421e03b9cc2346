"""Decisions only: records and a time in, actions out; no disk, no clock, no asyncio."""
