"""What every other room uses: errors, results, and where a formula holds."""
