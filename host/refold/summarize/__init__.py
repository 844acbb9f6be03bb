"""Older rows to text, by a model or offline, and the judgement of what a model wrote."""
