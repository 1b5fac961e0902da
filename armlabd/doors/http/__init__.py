"""http: see ARCHITECTURE.md."""
