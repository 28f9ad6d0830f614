"""Shared by all other subpackages: errors, units, results, reports and the validity of formulas."""
