"""record: see ARCHITECTURE.md."""
