"""Telemetry of GPUs: power, temperature and clock over time, and what fits them."""
