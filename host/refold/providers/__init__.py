"""Requests to JSON and answers back, for each protocol; models, retries, and what refusals mean."""
