"""Models as JSON: single values, the document around the features, and the parts that models share."""
