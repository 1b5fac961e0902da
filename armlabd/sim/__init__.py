"""sim: see ARCHITECTURE.md."""
