"""The classes of kdi.compat.kditransform that tests go through, and what they have in common."""

import kdi.compat.kditransform as new

CLASSES = [
    new.KDITransformer,
    new.KDDiscretizer,
    new.KDIDiscretizer,
    new.KBinsKDIDiscretizer,
    new.SimpleKDIDiscretizer,
]


def first_boundaries(model):
    """The boundaries of the first feature."""
    if isinstance(model, new.SimpleKDIDiscretizer):
        return model.get_boundaries()[:, 0]
    return model.boundaries_[0] if isinstance(model, new.KDDiscretizer) else model.get_boundaries()[0]
