"""Architectures: one file each."""

from engine.models import bert

ARCHITECTURES = {"bert": bert}
