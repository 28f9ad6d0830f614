"""Schematics of the book as SVG: a run over time, checkpoint tiers, failing racks, heat, and spare nodes."""

from ettr_book.pictures.blast_radius import rack
from ettr_book.pictures.checkpoint_places import tiers
from ettr_book.pictures.drawing import Picture
from ettr_book.pictures.heat_path import heat
from ettr_book.pictures.run_over_time import timeline
from ettr_book.pictures.spare_nodes import spares

__all__ = ["Picture", "heat", "rack", "spares", "tiers", "timeline"]
