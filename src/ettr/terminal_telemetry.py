"""What `ettr telemetry` shows."""
