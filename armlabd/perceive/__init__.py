"""perceive: see ARCHITECTURE.md."""
