"""check: see ARCHITECTURE.md."""
