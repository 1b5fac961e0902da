"""motion: see ARCHITECTURE.md."""
