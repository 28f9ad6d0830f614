"""Heat: from the weather to the die, its clock, and its failures."""
