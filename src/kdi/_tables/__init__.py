"""Tables as users have them: frames, Arrow data, files, sources, sinks, and transforms of streams."""
