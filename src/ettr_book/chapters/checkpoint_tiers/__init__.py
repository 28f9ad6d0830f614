"""What do memory, local, peer and remote checkpoints buy together?"""

from ettr_book.chapters.checkpoint_tiers.bandwidth import bandwidth_crossings, store, stored_bytes
from ettr_book.chapters.checkpoint_tiers.corruption import checkpoints_to_hold, late
from ettr_book.chapters.checkpoint_tiers.tiers import answer, ladder, shares

__all__ = ["answer", "bandwidth_crossings", "checkpoints_to_hold", "ladder", "late", "shares", "store", "stored_bytes"]
