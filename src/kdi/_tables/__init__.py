"""Tables as users pass them: frames, Arrow data, files, sources, sinks, and transformed streams."""
