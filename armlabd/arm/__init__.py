"""arm: see ARCHITECTURE.md."""
