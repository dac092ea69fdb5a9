"""`KDITransformer`, the base class that it shares with `KDITransformerCV`, and paths of alphas."""
