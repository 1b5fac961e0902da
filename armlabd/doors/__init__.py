"""doors: see ARCHITECTURE.md."""
