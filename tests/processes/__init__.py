"""Proof by real processes that nothing acknowledged is lost: servers, workers and commands on one store."""
