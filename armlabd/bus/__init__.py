"""bus: see ARCHITECTURE.md."""
