"""`KDITransformerCV`: the bandwidth factor of each feature, chosen by cross-validation."""
