"""Saved models: estimators as JSON; this package has the document and the parts that all models have in common."""
