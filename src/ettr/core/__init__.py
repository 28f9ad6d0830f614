"""What every other part is written in: errors, results, and checks of numbers."""
