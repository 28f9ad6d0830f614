"""Logs of training frameworks, and what they say of the run that wrote them."""
