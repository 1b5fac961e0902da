"""gate: see ARCHITECTURE.md."""
