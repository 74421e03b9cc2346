"""What the crash tests share."""

from __future__ import annotations

import logging

import pytest


@pytest.fixture(autouse=True)
def quiet():
    """Programs that die by the thousand say so each time; nobody reads it here."""
    logger = logging.getLogger("agentctl")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    yield
    logger.setLevel(before)
