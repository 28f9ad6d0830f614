"""Other people's files, plain or packed: their formats, times and weather, with every record accounted for."""
