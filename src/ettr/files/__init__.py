"""Reading files from outside, plain or compressed: formats, times and weather, with every record accounted for."""
