"""plan: see ARCHITECTURE.md."""
