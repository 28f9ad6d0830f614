"""Files that anybody may have written: opened without trust, and every record accounted for."""
